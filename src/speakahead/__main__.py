from speakahead.cli.main import main

main()
