# SPDX-License-Identifier: GPL-2.0-only
"""Makes mutants by rule of each function of the module, and takes those made by hand."""

import collections
import hashlib
import re

# An id names the file below module/, the function, the rule, and which of its places there.
Mutant = collections.namedtuple("Mutant", "id file function start end new")

BODY = re.compile(r"^((?:\w[^\n]*\n(?:[ \t][^\n]*\n)*)?)\{\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"(\w+)\(")
INERT = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])+'|\b(?:lockdep_assert_\w+|"
                   r"static_assert|BUILD_BUG_ON|might_sleep)\([^;]*;", re.DOTALL)
# Parentheses in others, five deep
NESTED = r"[^()]*"
for _ in range(5):
    NESTED = rf"(?:[^()]|\({NESTED}\))*"
CONDITION = re.compile(rf"\b(?:if|while) \(({NESTED})\)")
RETURN = re.compile(r"\breturn (?!true;|false;)([^;]+);")
FIELD = re.compile(r"^\t+\.\w+\s*=[^;{}]*?,\n", re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.\"])(\d+)(?=(?:U|UL|ULL)?\b)(?![.\w]*\w*x)")
TYPE = (r"(?:struct|union|enum|const|unsigned|signed|static|int|long|bool|char|void|[us]\d+|__\w+|"
        r"\w+_t|DEFINE_\w+|LIST_HEAD|[A-Z_]+)\b")
STATEMENT = re.compile(rf"(?:(?<=\n)|\A)(\t+)(?!{TYPE}[ (]\**\w|return\b|case\b|default\b|if\b|"
                       r"for\b|while\b|do\b|switch\b|else\b|goto\b|\})[\w*(+-][^;{}]*;\n")
# The text before a statement
BEFORE = re.compile(r"(?:\A|[;{}):]|\belse)\s*\Z")
# No test on x86 notices a barrier that is missing: litmus tests judge each.
BARRIER = re.compile(r"\s*(?:smp_\w*mb\w*|synchronize_rcu)\(\);\s*")


def both(*pairs):
    return {**dict(pairs), **{new: old for old, new in pairs}}


WORDS = [
    ("compare", r" (<|<=|>|>=) ", both(("<", "<="), (">", ">="))),
    ("equal", r" (==|!=) ", both(("==", "!="))),
    ("logic", r" (&&|\|\|)(?=\s)", both(("&&", "||"))),
    ("arithmetic", r"(?<=[\w)\]]) ([+-]) (?=\w|\(|\*)", both(("+", "-"))),
    ("bits", r" ([|&]|<<|>>) ", both(("|", "&"), ("<<", ">>"))),
    ("count", r"(\+\+|--|\+=|-=)", both(("++", "--"), ("+=", "-="))),
    ("truth", r"\b(true|false)\b", both(("true", "false"))),
    ("error", r"\breturn (-E\w+|err|ret)(?=;)", collections.defaultdict(lambda: "0")),
]


def changes_of(text, code, head):
    """Each change of a body as (rule, start, end, new); code is the text without what is inert."""
    wholes = [("negate", *found.span(1)) for found in CONDITION.finditer(code)]
    if re.search(r"\bbool\b[^(]*\(", head):
        wholes += [("return", *found.span(1)) for found in RETURN.finditer(code)]
    for rule, start, end in wholes:
        yield rule, start, end, f"!({text[start:end]})"
    for rule, pattern, other in WORDS:
        for found in re.finditer(pattern, code):
            # Negated as a whole already
            if rule != "equal" or not any(start <= found.start() < end and
                                          not re.search(r"&&|\|\|", code[start:end])
                                          for _, start, end in wholes):
                yield rule, *found.span(1), other[found[1]]
    for found in NUMBER.finditer(code):
        yield "number", *found.span(1), str(int(found[1]) + 1)
    for found in FIELD.finditer(code):
        yield "field", *found.span(), ""
    statements = [found for found in STATEMENT.finditer(code)
                  if BEFORE.search(code[:found.start()])]
    for found in statements:
        yield "drop", found.start() + len(found[1]), found.end(), ";\n"
    for one, two in zip(statements, statements[1:]):
        if one.end() == two.start() and one[1] == two[1]:
            start, middle, end = one.start(), one.end(), two.end()
            yield "swap", start, end, text[middle:end] + text[start:middle]


def mutants_of(file, text):
    code = INERT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for body in BODY.finditer(code):
        function, first = NAME.search(body[1])[1], body.start(2)
        inside = text[first:body.end(2)]
        seen, numbers = set(), collections.Counter()
        for rule, start, end, new in sorted(changes_of(inside, body[2], body[1]),
                                            key=lambda change: change[:3]):
            numbers[rule] += 1
            same = re.sub(r"\s|;(?=;)", "", inside[:start] + new + inside[end:])
            if same not in seen and not (rule == "drop" and BARRIER.fullmatch(inside[start:end])):
                seen.add(same)
                yield Mutant(f"{file}:{function}:{rule}:{numbers[rule]}", file, function,
                             first + start, first + end, new)


def by_hand(module, table):
    """The bodies in the table, each below a line with the function (and a file) and its fault."""
    texts = {str(path.relative_to(module)): path.read_text(encoding="utf-8")
             for path in module.rglob("*.[ch]")}
    for part, function, wrong, new in re.findall(
            r"^(.* )?(\w+): (.*)\n((?:\t.*\n|\n(?=\t))+)", table, re.MULTILINE):
        places = [(file, *found.span(2)) for file, text in texts.items() if part.strip() in file
                  for found in BODY.finditer(text) if NAME.findall(found[1])[:1] == [function]]
        if len(places) != 1:
            raise SystemExit(f"mutants: there are {len(places)} functions {function}()")
        (file, start, end), rule = places[0], wrong.replace(" ", "-")
        yield Mutant(f"{file}:{function}:hand:{rule}", file, function, start, end, new)


def every(module):
    for path in sorted(module.rglob("*.[ch]")):
        file = str(path.relative_to(module))
        if not re.search(r"uapi/|trace\.h", file):
            yield from mutants_of(file, path.read_text(encoding="utf-8"))


def pick(mutants, number, seed):
    """A mutant's place in the order depends on its id alone, so others may come and go."""
    return sorted(mutants, key=lambda mutant: hashlib.sha256(
        f"{seed} {mutant.id}".encode()).digest())[:number]
