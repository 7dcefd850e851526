"""Which words and digits of a text are a result: the rules of the lint, as data."""

import re
from collections.abc import Iterator

from tools.text.seen import BOUND, HIDDEN

ONE = r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen"
TENS = r"twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
MANY = r"hundred|thousand|million|dozen"
WORD = rf"(?:(?:{TENS})(?:[-\s](?:{ONE}))?|{ONE}|(?:an?|{ONE}|\d+)\s+(?:{MANY}))"
DIGITS = r"\d(?:[\d,.]*\d)?"
NUMBER = rf"(?:{DIGITS}|{WORD})"
ABOUT = r"(?:(?:about|nearly|almost|roughly|around|over|only|just)\s+)?"
THAN = (
    r"(?:as|more|less|fewer|better|worse|(?:high|low|larg|small|bigg|great|fast|slow|long|short"
    r"|deep|wid|steep|clos|near|furth|farth)er)"
)
PART = r"third|quarter|fifth|sixth|seventh|eighth|ninth|tenth|hundredth|thousandth"
RUNS = r"(?:network|run|seed|start|model)s?"
OUTCOME = (
    r"(?:(?:are|were|have|had|been|get|got|do|did|can|could|not|never|still|all|that|which|also"
    r"|even|\w+ly)\s+){0,3}"
    r"(?:train|learn|reach|fail|stay|solv|converg|diverg|succeed|explod|escap)(?:e|ed|t)?\b"
)
TRAINED = (
    rf"(?:(?:of\s+them|(?:\w+\s+)?{RUNS}(?:\s+\(.*?\))?)\s+{OUTCOME}"
    rf"(?!\s+(?:\w+\s+)?(?:on|with|from|for|in|at|by)\b)|(?!trained\b){OUTCOME}|trained\b(?=\s*[.,;:)]))"
)
TYPED = re.compile(
    rf"""
    # a share: 93 %, ninety-three per cent, 12 percentage points
    \b{NUMBER}(?:\s*[%‰٪]|[\s-]*(?:pct|pp)\b)
  | \b{NUMBER}[\s-]+per[\s-]?(?:cents?|hundred|mille|centage[\s-]+points?)\b
    # a power of ten: 1e-5, 2.5 × 10⁻⁵, 10⁻⁵
  | \b\d+(?:\.\d+)?(?:e[-+−]?\d+\b|\s*[×·]\s*10[⁻⁰¹²³⁴-⁹]+) | \b10⁻[⁰¹²³⁴-⁹]+
    # a decimal number: 0.93, .9, 1.5x, 0.53s, 0,93, zero point nine; not 2.11.0, 3,000
  | (?:(?<![\w.])\d*|(?<=[a-z])\d+)[.·٫]\d+(?!\.?\d) | \b\d+,(?!\d{{3}}\b)\d+\b
  | \b(?:zero|nought|{ONE})[\s-]+point[\s-]+(?:zero|{ONE})\b | \bpoint\s+(?:{ONE})\s+(?:{ONE})\b
    # a fraction: ½, 28/32, 3:1, two-thirds, a third of, about half, halved; not a third axis
  | [¼-¾⅐-⅞] | (?<![\w/:])\d+\s*[/⁄:]\s*\d+\b(?![/:])
  | \b(?:an?|{ONE})[\s-]+(?:(?:good|full|mere)\s+)?(?:{PART})
    (?:s\b|(?=\s+(?:{THAN}|of|the|that)\b|\s*(?:[.,;:!?)]|$)))
  | \b(?:by|about|nearly|almost|than|roughly|and\s+a)\s+half\b
  | \bhalv(?:ed|ing)\b | (?<!both\ )(?<!two\ )\bhalves\b
    # a factor: three times as fast, tenfold, 3×, ×3, twice the, doubled; not 2 × 3
  | \b(?:factors?\s+of|by\s+an?\s+factor)\s+{ABOUT}(?!one\b){NUMBER}
  | \b(?:{MANY})-?fold\b | \b{NUMBER}[\s-]*(?:fold\b|times\s+(?:{THAN}|the|its|that)\b)
  | \b{DIGITS}\s*(?:×|x\b)(?!\s*(?:\w\b|[\d{HIDDEN}{BOUND}]))
  | (?<![\w{HIDDEN}{BOUND}]\ )(?<![\w{HIDDEN}{BOUND}])×\s?\d+
  | \b(?:twice|thrice|half)\s+(?:{THAN}|of|the|its|their|that|those)\b
  | \b(?:doubl|tripl|quadrupl)(?:e[sd]?|ing)?\b(?!\s+precision)
  | (?:\b(?:an?|{NUMBER})\s+order|\borders)\s+of\s+magnitude\b
    # points: 12 points higher, by seven points
  | \b{NUMBER}\s+points?\s+{THAN} | (?<=\b(?:by|of)\ ){NUMBER}\s+points?\b
    # so many of so many: one in five, 28 of 32, 28 networks are trained, nearly all, a dozen
  | \b(?:once|twice|{NUMBER}(?:\s+(?:{RUNS}|times|failures?|successes))?)
    \s+(?:in|out\s+of)\s+(?:every\s+)?(?!one\b)(?:{NUMBER}|{MANY})\b
  | (?<!first\ )(?<!last\ )\b\d+\s+of\s+(?:the\s+)?\d+\b
  | \b(?!one\b){NUMBER}\s+of\s+(?:(?:the|our|these)\s+)?{NUMBER}\s+{RUNS}\b
  | (?<!of\ )\b{NUMBER}\s+(?:of\s+(?:the|our|these|all)\s+)?{TRAINED}
  | \bevery\s+(?:other|second|third|\w+th)\s+(?:network|run|seed)\b
  | \b(?:an?|{NUMBER})\s+dozens?\b | \b(?:dozen|score|hundred|thousand)s\s+of\s+(?:times|{RUNS})\b
  | \b(?:nearly|almost|virtually|practically)\s+(?:all|every|none|no)\b | \bvast\s+majority\b
    # a time: 53 ms, ten minutes
  | \b{NUMBER}[\s-]+(?:[mµn]s|(?:milli)?sec(?:ond)?s?|minutes?|hours?)\b | \b\d{{1,3}}\s*[mµ]?s\b
""",
    re.X | re.I | re.M,
)
CHANGED = re.compile(  # falls to 7
    r"\b(?:gain|los[et]|drop|f[ae]ll|ris|rose|gr[oe]w|shr[aiu]nk|improv|climb|jump|(?:in|de)creas"
    rf"|reduc|took)\w{{0,4}}\s+(?:(?:by|to|from|of)\s+)?{ABOUT}(?P<value>\d[\d,]*)",
    re.I,
)
DECIMAL = r"[-−]?\d*\.?\d+"
SETTING = re.compile(  # numbers that were chosen, behind their name
    rf"(?:\b(?:scales?|(?:learning\s+)?step(?:\s+size)?s?|learning\s+rates?)"
    rf"(?:\s+(?:of|from|is|between))?|(?:\b[^\WpPrR]|{HIDDEN})\s*[=<>≤≥])\s*"
    rf"{DECIMAL}(?:(?:,\s*{DECIMAL})*,?\s+(?:and|or|to)\s+{DECIMAL})?",
    re.I,
)
LEVEL = re.compile(r"95\s*%\s*(?:confidence\s+)?intervals?\b")  # of all intervals here


def results(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, "0.93") of each number that is no setting and no level of the intervals."""
    chosen = [found.span() for found in SETTING.finditer(text)]
    changes = (f for f in CHANGED.finditer(text) if not TYPED.match(text, f.start("value")))
    for found in (*TYPED.finditer(text), *changes):
        start, end = found.span()
        is_setting = "%" not in found[0] and any(a <= start < b for a, b in chosen)
        if not is_setting and not LEVEL.match(text, start):
            yield start, end, " ".join(found[found.lastgroup or 0].split())
