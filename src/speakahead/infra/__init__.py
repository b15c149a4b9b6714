"""Deployment to AWS: CDK stacks, and what the commands ``speech-infra`` and ``agent-infra`` do.

``settings`` is what can be chosen, ``*_stack`` what is created, ``synthesis`` turns both into a
cloud assembly without touching an account. ``cdk``, ``account``, ``weights``, ``builder`` and
``deployment`` act on an account. The commands are in ``cli.speech_infra`` and ``cli.agent_infra``.
"""
