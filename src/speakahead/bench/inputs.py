"""What the quality benchmark says: short answers to paragraphs, in three languages, nine voices.

The texts are our own. None is a calibration phrase. Each belongs to one of four bands of length,
counted in phonemes (symbols of Kokoro's alphabet, with stress and punctuation marks), because what
windowed decoding can get wrong depends on the length: a one-word answer has few frames to average
over, a long sentence has many joins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from speakahead.text.frontend import FrontEnd
from speakahead.text.phonemes import Phonemes


class Band(NamedTuple):
    """Numbers of phonemes, both ends included."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.least}-{self.most}"


BANDS = (Band(1, 5), Band(6, 15), Band(16, 60), Band(60, 200))

ENGLISH_VOICES = ("af_heart", "bm_george", "am_michael", "bf_emma", "af_bella", "am_puck")
SPANISH_VOICES = ("ef_dora", "em_alex")
FRENCH_VOICES = ("ff_siwis",)

_LANGUAGES = {"a": "en-us", "b": "en-gb", "e": "es", "f": "fr-fr"}

# One tuple a band; one line a text.
_ENGLISH: tuple[tuple[str, ...], ...] = (
    (
        "Yes.",
        "No.",
        "Why?",
        "Two.",
        "Oh!",
        "Hi.",
        "Now?",
        "Who?",
        "Nine.",
        "Eight.",
        "Up.",
        "Here.",
        "Good.",
        "Wait.",
        "Cheese.",
        "Low.",
    ),
    (
        "Not today.",
        "Thank you.",
        "Good morning.",
        "Of course!",
        "Maybe later.",
        "Which one?",
        "I see.",
        "Forty-two.",
        "That's right.",
        "Room seven.",
        "Next Friday.",
        "Are you there?",
        "Almost done.",
        "Turn left.",
        "No problem.",
        "Half past two.",
    ),
    (
        "Your table is ready.",
        "I can look that up for you.",
        "The next train leaves at 6:40.",
        "Would you like anything else?",
        "Sorry, could you say that again?",
        "It costs $12.50.",
        "The museum is closed on Mondays.",
        "Please hold the line for a moment.",
        "She sells fresh fish by the harbour.",
        "We have three rooms left for Saturday.",
        "The battery is almost empty, so please be quick.",
        "Whose shoes are these?",
        "Your parcel should arrive tomorrow.",
        "Which colour do you prefer?",
        "Don't forget to take your umbrella and your keys!",
        "The bridge was built in 1932.",
    ),
    (
        "I found two flights to Lisbon: one leaves at nine in the morning, the other at half past "
        "four.",
        "If the red light keeps flashing, unplug the box, wait ten seconds, and then plug it in "
        "again; should that change nothing, call us on any working day before five in the "
        "afternoon.",
        "The garden behind the old library is open to everyone, and in spring it is full of "
        "yellow roses.",
        "Your appointment with the dentist has been moved from Tuesday to Thursday, at a quarter "
        "to eleven.",
        "Before we start, please check that your name and address are still correct, because we "
        "send the card by post.",
        "The soup needs about twenty minutes; stir it now and then, and add the salt at the very "
        "end, when the beans are soft and most of the water is gone.",
        "He walked along the river until it was dark, thinking of the letter that he had never "
        "answered.",
        "There is a small delay on the northern line this morning, so you may want to take the "
        "bus instead.",
        "Our shop ships to more than forty countries, and most orders reach the customer within "
        "five working days.",
        "Although the weather was cold, hundreds of people waited outside to hear the orchestra "
        "play, and those who found no place in the hall listened from the stairs until the very "
        "last note.",
        "To change your password, open the settings, choose security, and follow the three steps "
        "on the screen.",
        "The doctor said that a short walk every day would help more than any of these pills.",
        "What would you think of meeting next week, after everyone has read the report and had "
        "some time to think?",
        "Children under six travel free of charge, but they need a ticket, which you can print at "
        "the station.",
        "My grandmother kept bees for thirty years, and she knew by their sound whether a storm "
        "was coming.",
        "The second chapter explains how ships found their way across the ocean without any "
        "instruments, by the stars, the waves, the wind, and the birds that they saw in the "
        "evening.",
    ),
)

_SPANISH: tuple[tuple[str, ...], ...] = (
    ("Sí.", "No."),
    ("Hasta luego.", "Buenos días."),
    ("¿En qué puedo ayudarle?", "El tren sale a las ocho y media."),
    (
        "La farmacia está al final de la calle, justo enfrente de la iglesia, y abre todos los "
        "días.",
        "Si quiere cambiar la fecha de su viaje, dígame el número de la reserva y su apellido.",
    ),
)

_FRENCH: tuple[tuple[str, ...], ...] = (
    ("Oui.", "Non."),
    ("Bonjour à tous.", "Merci bien."),
    ("Votre commande est prête.", "Je ne connais pas cette rue."),
    (
        "Le musée se trouve derrière la gare, et l'entrée est gratuite le premier dimanche du "
        "mois.",
        "Pouvez-vous répéter votre numéro de téléphone, s'il vous plaît, un peu plus lentement ?",
    ),
)


@dataclass(frozen=True, slots=True)
class Input:
    """One text, and who says it."""

    text: str
    voice: str
    band: Band

    @property
    def language(self) -> str:
        """BCP 47 tag, the voice's."""
        return _LANGUAGES[self.voice[0]]

    @property
    def is_english(self) -> bool:
        return self.language.startswith("en")

    def phonemes(self, front_end: FrontEnd) -> Phonemes:
        """The text's phonemes.

        Raises:
            ValueError: the front end makes several pieces of it, or their number is not in the
                band.
        """
        pieces = front_end.phonemes(self.text, 0, self.language)
        if len(pieces) != 1 or not self.band.least <= len(pieces[0].text) <= self.band.most:
            raise ValueError(f"the input {self.text!r} is not within the band {self.band}")
        return pieces[0]


def inputs() -> tuple[Input, ...]:
    """All inputs; any first few of them are spread over bands and voices.

    Each band has 16 English, two Spanish and two French inputs.
    """
    english = _rows(_ENGLISH, ENGLISH_VOICES)
    others = (*_rows(_SPANISH, SPANISH_VOICES), *_rows(_FRENCH, FRENCH_VOICES))
    step = len(english) // len(others)
    ordered = []
    for number, other in enumerate(others):
        ordered += [*english[number * step : (number + 1) * step], other]
    return tuple(each for row in ordered for each in row)


def _rows(texts: tuple[tuple[str, ...], ...], voices: tuple[str, ...]) -> list[tuple[Input, ...]]:
    """Rows of one input a band. The voices go round within a band; each begins with another."""
    return [
        tuple(
            Input(text, voices[(number + place) % len(voices)], band)
            for place, (text, band) in enumerate(zip(row, BANDS, strict=True))
        )
        for number, row in enumerate(zip(*texts, strict=True))
    ]
