"""What the engine says is what was to be said: round trips through a recogniser."""

import json

import numpy as np
import pytest

from speakahead.assets import Voices, locate
from speakahead.bench.recognition import Recogniser, WordErrors, word_errors
from speakahead.kokoro.engine import synthesize
from speakahead.kokoro.loading import load_engine
from speakahead.text.frontend import FrontEnd

SENTENCES = [
    "Your order left our warehouse in Portland on Tuesday morning.",
    "It should be with you by ten o'clock on Friday.",
    "The total comes to $1,249.99, and a deposit of $500 is due today.",
    "Dr. Alvarez will see you on March 3rd at 4:30 pm.",
    "The temperature fell to -12 °C during the night.",
    "About 50% of our customers choose the second plan.",
    "Please take the first train, because the later one is often late.",
    "I read the book yesterday, and I will read it again tomorrow.",
    "We close at 9 pm on weekdays and at noon on Sundays.",
    "In 1999, more than 12,000 people bought the same ticket.",
    "Would you like me to change the delivery address?",
    "The shop on Main St. is open until six in the evening.",
    "King Henry VIII had six wives and three children.",
    "Add 1/2 cup of flour and two spoons of sugar.",
    "The new phone has 80 GB of memory and a better camera.",
    "Nobody knew why the lights went out so suddenly.",
    "She has lived in that small village for twenty years.",
    "They were waiting for the bus when it began to rain.",
    "You can pay by card, by cheque, or in cash.",
    "Thank you for calling, and have a wonderful day.",
]


@pytest.fixture(scope="module")
def recogniser() -> Recogniser:
    return Recogniser()


def test_twenty_sentences_are_understood(recogniser: Recogniser) -> None:
    model = locate()
    engine = load_engine(model, Voices(model.path), threads=2)
    front_end = FrontEnd()
    total = WordErrors(0, 0)
    heard = {}
    for sentence in SENTENCES:
        pieces = [
            piece
            for phonemes in front_end.phonemes(sentence, 0, "en-us")
            for piece in synthesize(engine, phonemes, "af_heart")
        ]
        heard[sentence] = recogniser.transcribe(np.concatenate(pieces))
        total += word_errors(sentence, heard[sentence])
    wrong = {s: h for s, h in heard.items() if word_errors(s, h).errors}
    assert total.words > 180
    assert total.rate <= 0.03, json.dumps(wrong, indent=1)


def test_word_errors_count_substitutions_deletions_and_insertions() -> None:
    assert word_errors("It costs $3.50.", "it costs three dollars and fifty cents") == WordErrors(
        0, 7
    )
    assert word_errors("one two three", "one three three four").errors == 2
    assert word_errors("one two three", "") == WordErrors(3, 3)


def test_a_contraction_is_heard_as_its_long_form() -> None:
    for reference, hypothesis in (
        ("There is a delay.", "There's a delay."),
        ("I can't, and they won't.", "I cannot and they will not"),
        ("They’re late; we've left, I'm sure.", "They are late, we have left I am sure."),
    ):
        assert word_errors(reference, hypothesis).errors == 0
    assert word_errors("The dog's bone.", "The dog is bone.").errors > 0  # that is no contraction
