"""Spanish, French, Hindi, Italian, Portuguese, and languages without rules."""

from __future__ import annotations

from collections.abc import Callable

import pytest

CASES = {
    ("es", "Son 3,5 km"): "Son tres coma cinco kilómetros",
    ("es", "1.249,99 €"): ("mil doscientos cuarenta y nueve euros con noventa y nueve céntimos"),
    ("es", "el 20 %"): "el veinte por ciento",
    ("es", "a las 15:30"): "a las quince y treinta",
    ("es", "−12 °C"): "menos doce grados Celsius",
    ("es", "12/05/2024"): "doce de mayo de dos mil veinticuatro",
    ("es", "¿Escribes a ana@example.com?"): "Escribes a ana arroba example punto com?",
    ("es", "$1.000.000"): "un millón de dólares",
    ("fr", "Il fait 3,14 m"): "Il fait trois virgule quatorze mètres",
    ("fr", "à 14h30"): "à quatorze heures trente",
    ("fr", "12,75 €"): "douze euros soixante-quinze centimes",
    ("fr", "1 000 000 habitants"): "un million habitants",
    ("fr", "5-10 kg"): "cinq à dix kilogrammes",
    ("fr", "www.example.com"): "example point com",
    ("fr", "le 1er mai 2024"): "le premier mai deux mille vingt-quatre",
    ("it", "1º piano, 21 km"): "primo piano, ventuno chilometri",
    ("it", "mario@example.it"): "mario chiocciola example punto it",
    ("it", "5,50 €"): "cinque euro e cinquanta centesimi",
    ("pt-br", "R$ 5,50"): "cinco reais e cinquenta centavos",
    ("pt-br", "80 km/h e 50%"): "oitenta quilômetros por hora e cinquenta por cento",
    ("pt-br", "joao@example.com"): "joao arroba example ponto com",
    ("hi", "₹1,23,456.50"): "एक लाख तेईस हज़ार चार सौ छप्पन रुपये पचास पैसे",
    ("hi", "१२३ किमी।"): "एक सौ तेईस किलोमीटर.",
    ("hi", "3.5 %"): "तीन दशमलव पाँच प्रतिशत",
    ("ja", "**3** 個です。"): "3 個です.",
    ("de", "## Es kostet 3,50 €"): "Es kostet 3,50.",
}


@pytest.mark.parametrize(("written", "spoken"), CASES.items())
def test_reads_as_a_person_would(
    say: Callable[..., str], written: tuple[str, str], spoken: str
) -> None:
    language, text = written
    assert say(text, language) == spoken
