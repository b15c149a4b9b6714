"""What the full stop means after a word, per language: data for the boundary rules.

An entry in lower case matches a word in any case; one that starts with a capital ("Gen", "M")
matches only a word that does, because in lower case it is an ordinary word ("gen", "m").
Entries have no full stop at their end, but keep inner ones ("e.g", "ph.d").
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The closed word classes that the boundary rules of one language ask for.

    Attributes:
        titles: stand before a name, so a stop after them never ends a sentence ("Dr").
        inner: always followed by more of the same sentence ("e.g").
        references: no end before a number, a single letter or a Roman numeral ("Fig", "Jan").
        ambiguous: end only if the next word is one that starts sentences ("Inc", "U.S").
        units: like ``ambiguous``, but only after a number ("2 oz. Cheddar").
        times: end unless a time zone, a weekday or a number follows ("p.m").
        enders: usual at the end; no end only before lower case ("etc").
        starters: words that start sentences and are rarely part of a name.
        conjunctions: words before which a sentence that is too long may be cut.
    """

    titles: frozenset[str] = frozenset()
    inner: frozenset[str] = frozenset()
    references: frozenset[str] = frozenset()
    ambiguous: frozenset[str] = frozenset()
    units: frozenset[str] = frozenset()
    times: frozenset[str] = frozenset()
    enders: frozenset[str] = frozenset()
    starters: frozenset[str] = frozenset()
    conjunctions: frozenset[str] = frozenset()

    def __or__(self, other: Lexicon) -> Lexicon:
        return Lexicon(
            **{f.name: getattr(self, f.name) | getattr(other, f.name) for f in fields(Lexicon)}
        )


def contains(words: frozenset[str], word: str) -> bool:
    """Whether ``word``, as it stands in the text, matches an entry of ``words``."""
    return word.lower() in words or (word[:1].isupper() and word.capitalize() in words)


_ENGLISH = Lexicon(
    titles=_words(
        "mr mrs ms mx dr prof Rev messrs Gen Sen Rep Gov Capt Cpt Cmdr Lt Col Sgt Cpl Maj Adm "
        "Hon Pres Supt Msgr Fr Mt Ft Amb Asst Assoc Atty Det Insp Pvt Treas"
    ),
    inner=_words("e.g i.e eg ie vs v.s cf approx viz incl excl resp w.r.t a.k.a n.b p.s i.a c.f"),
    references=_words(
        "no nos nr n n° nº p pp pg pgs pag fig figs eq eqs eqn sec sect ch chap vol vols art ver "
        "v par para § ext apt ste rm tel ph ref refs app ex ed est max min rs c ca circa ln op pop "
        "Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs "
        "Fri Sat Sun"
    ),
    ambiguous=_words(
        "inc ltd co corp bros llc llp plc gmbh jr Sr esq ph.d phd m.d b.a m.a b.sc m.sc mba "
        "St ave blvd Rd Hwy Pkwy Ln Pl Sq dept univ assn al u.s u.k u.s.a e.u u.n d.c "
        "Calif Mass Penn Fla Ariz Conn"
    ),
    units=_words("in ft yd mi oz lb lbs sq gal qt pt tsp tbsp"),
    times=_words("a.m p.m am pm"),
    enders=_words("etc"),
    starters=_words(
        "the a an he she it they we you i my your his her its our their this that these those "
        "there here how what when where why who whom whose which do does did is are was were has "
        "have had will would can could should may might must if in on at as for from with by to "
        "of into about under over during without within between among against through across "
        "but and or so yet nor however also then now no not yes please let after before once "
        "while because since although though unless until whether despite instead meanwhile "
        "moreover furthermore therefore thus hence otherwise overall additionally finally "
        "next first second third lastly today tomorrow yesterday recently currently "
        "each every some many most all both any one two three four five another other others "
        "several few such maybe perhaps just only even still sure okay ok thanks sorry "
        "unfortunately fortunately check see note use try make go get tell ask "
        "someone everyone everybody everything anyone anybody anything something nothing nobody "
        "none neither either besides likewise similarly consequently accordingly conversely "
        "specifically generally typically usually often sometimes eventually ultimately "
        "importantly interestingly surprisingly clearly obviously according given compared "
        "depending considering later soon again above below once whenever wherever whatever "
        "having being"
    ),
    conjunctions=_words(
        "and but or nor so yet because although though while whereas since unless until which "
        "who that when where if as than after before with without for"
    ),
)

_SPANISH = Lexicon(
    titles=_words(
        "sr sra srta sres sras dr dra dres lic ing arq prof profa d Da dña Fr Gral Cnel Excmo "
        "Excma Ilmo Ilma Mons Sto Sta Av Avda"
    ),
    inner=_words("p.ej ej aprox ref pej ee c.f"),
    references=_words(
        "pág págs pag núm núms num nro no nº n.º art arts cap caps vol vols fig figs párr párrf "
        "tel teléf ext apdo cra cll ene feb mar abr may jun jul ago sep sept set oct nov dic "
        "lun mié jue vie sáb dom máx mín s siglo"
    ),
    ambiguous=_words("uu ee.uu s.a s.l s.a.s cía ltda hnos jr c.v d.f ud uds vd vds"),
    times=_words("a.m p.m"),
    enders=_words("etc"),
    starters=_words(
        "el la los las un una unos unas lo yo tú él ella ellos ellas nosotros usted ustedes esto "
        "eso este esta estos estas ese esa esos esas aquí ahí allí hay es son fue era está están "
        "no sí si pero y o en con por para de del al a desde hasta sin sobre como cuando donde "
        "qué quién cómo cuándo dónde cuál cuánto porque aunque también además entonces después "
        "luego antes ahora hoy mañana ayer ya su sus mi mis tu tus nuestro nuestra se me te le "
        "les nos todo todos cada otro otra muchos algunos primero segundo finalmente según"
    ),
    conjunctions=_words("y e o u pero sino aunque porque que cuando donde mientras como si para"),
)

_FRENCH = Lexicon(
    titles=_words("M mm. MM mme mmes mlle mlles dr Me Mgr pr Prof Mr Ste St Cdt Gal Col"),
    inner=_words("p.ex ex env cf c.-à-d c.à.d càd p.-ex"),
    references=_words(
        "p pp no nos n° art chap fig vol éd tél tel av bd boul réf janv févr fév avr juil sept "
        "oct nov déc lun mer jeu ven sam dim max min § al coll"
    ),
    ambiguous=_words("s.a s.a.r.l cie ste ets av j.-c jc"),
    enders=_words("etc"),
    starters=_words(
        "le la les un une des du de l d je tu il elle on nous vous ils elles ce cet cette ces ça "
        "c cela ceci mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs qui que quoi "
        "quand où comment pourquoi combien quel quelle est sont a ont y en dans sur sous avec "
        "sans pour par chez vers depuis mais et ou donc or ni car si oui non aussi puis ensuite "
        "alors après avant enfin ainsi cependant toutefois pourtant voici voilà tout tous toute "
        "chaque plusieurs certains d'abord aujourd'hui demain hier merci selon lorsque comme"
    ),
    conjunctions=_words("et ou mais donc car puis que qui quand lorsque où si parce alors pour"),
)

_ITALIAN = Lexicon(
    titles=_words(
        "sig sig.ra sig.na sigg dott dott.ssa dr dr.ssa prof prof.ssa profa ing arch avv geom Rag "
        "On Dir Amm Egr Gent Spett Mons Don Gen Col Cap Cte v.cte psicol Rev S Ss cav comm"
    ),
    inner=_words("es ad.es p.es ecc.ra cfr cf ca d.c.d p.v c.d cosid meteor idraul"),
    references=_words(
        "n nn nr num p pp pag pagg art artt cap fig figg vol voll tel cell int lett gen feb mar "
        "apr mag giu lug ago set sett ott nov dic lun mer gio ven sab dom max min sec"
    ),
    ambiguous=_words("s.p.a s.r.l spa srl c.so v.le p.za p.zza a.c d.c f.lli st econ"),
    enders=_words("ecc etc"),
    starters=_words(
        "il lo la i gli le un uno una io tu lui lei noi voi loro egli ella esso essa questo questa "
        "questi queste quello quella quelli quelle qui qua lì là è sono era ha hanno c'è ci si non "
        "sì no ma e o in con su per tra fra di da del della dei delle dello al alla nel nella "
        "come quando dove perché chi che cosa quale quanto se anche inoltre poi dopo prima ora "
        "adesso oggi domani ieri già mio mia tuo tua suo sua nostro nostra tutto tutti ogni "
        "infine quindi però tuttavia mentre secondo"
    ),
    conjunctions=_words("e ed o ma però che quando dove mentre perché se come quindi per"),
)

_PORTUGUESE = Lexicon(
    titles=_words(
        "sr sra srta srs sras dr dra drs dras prof profa profª eng engª Exmo Exma D Pe Av"
    ),
    inner=_words("p.ex ex aprox obs"),
    references=_words(
        "n nº n.º no núm num p pp pág págs séc sécs art arts cap fig figs vol tel ramal r jan fev "
        "mar abr mai jun jul ago set out nov dez seg ter qua qui sex sáb dom máx mín"
    ),
    ambiguous=_words("s.a ltda cia e.u.a eua jr v.exa"),
    enders=_words("etc"),
    starters=_words(
        "o a os as um uma uns umas eu tu ele ela nós vós eles elas você vocês isto isso aquilo "
        "este esta estes estas esse essa esses essas aqui ali lá há é são foi era está estão não "
        "sim se mas e ou em no na nos nas com por para de do da dos das ao à desde até sem sobre "
        "como quando onde quem que qual quanto porque embora também além então depois antes agora "
        "hoje amanhã ontem já seu sua seus suas meu minha teu nosso nossa todo todos cada outro "
        "outra muitos alguns primeiro segundo finalmente segundo"
    ),
    conjunctions=_words("e ou mas porém que quando onde enquanto porque se como para pois"),
)

_HINDI = Lexicon(
    titles=_words("डॉ डा श्री श्रीमती सुश्री प्रो कु पं मो"),
    references=_words("पृ सं क्र रु"),
    conjunctions=_words("और या लेकिन परन्तु किन्तु क्योंकि ताकि जब तो कि"),
)

_ARABIC = Lexicon(
    titles=_words("د أ م أ.د"),
    references=_words("ص رقم هـ م"),
    conjunctions=_words("و أو لكن ثم لأن عندما حيث"),
)

_LEXICONS = {
    "en": _ENGLISH,
    "es": _SPANISH,
    "fr": _FRENCH,
    "it": _ITALIAN,
    "pt": _PORTUGUESE,
    "hi": _HINDI,
    "ar": _ARABIC,
}


@cache
def lexicon(language: str) -> Lexicon:
    """The lexicon for a BCP 47 tag such as ``"en-us"``; English for a language without its own.

    Agents mix English names and terms into every language, so English is always part of it.
    """
    primary = language.replace("_", "-").split("-")[0].lower()
    return _ENGLISH | _LEXICONS.get(primary, _ENGLISH)


# After a time of day these go on with it ("at 3 p.m. Eastern", "at 9 a.m. Monday").
TIME_FOLLOWERS = _words(
    "EST EDT ET CST CDT CT MST MDT MT PST PDT PT UTC GMT CET CEST BST IST JST KST AEST AEDT "
    "Eastern Central Mountain Pacific Monday Tuesday Wednesday Thursday Friday Saturday Sunday "
    "Mon Tue Wed Thu Fri Sat Sun January February March April May June July August September "
    "October November December Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec"
)

# A capital after one of these is a label, not the initial of a name ("plan B.", "vitamin C.").
LABELLED_BY_LETTER = _words(
    "vitamin plan option type grade class group part section appendix figure table step team "
    "hepatitis answer point exhibit column row choice variable item question drive letter box "
    "gate terminal hall room building block side version level phase tier zone route line "
    "vitamina opción tipo grupo parte sección apartado figura opzione gruppo sezione piano "
    "vitamine plan étape groupe partie annexe opção grupo seção"
)

# Sentences joined without a space, as in a reply resumed after a tool call ("done.Now I ..."),
# are told from file and module names ("world.Today") by these words alone.
GLUED_STARTERS = _words("The It We You This These There Now Let Here I I'm I'll I've Let's It's")
