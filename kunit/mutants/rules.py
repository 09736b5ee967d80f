# SPDX-License-Identifier: GPL-2.0-only
"""Makes mutants by rule of each function of the module, and takes those made by hand."""

import collections
import hashlib
import re

# An id names the file below module/, the function, the rule, and which of its places there.
Mutant = collections.namedtuple("Mutant", "id file function start end new")

BODY = re.compile(r"^((?:\w[^\n]*\n(?:[ \t][^\n]*\n)*)?)\{\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
INERT = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])+'|\b(?:lockdep_assert_\w+|"
                   r"static_assert|BUILD_BUG_ON|might_sleep)\([^;]*;", re.DOTALL)
# Parentheses in others, five deep
NESTED = r"[^()]*"
for _ in range(5):
    NESTED = rf"(?:[^()]|\({NESTED}\))*"
CONDITION = re.compile(rf"\b(?:if|while) \(({NESTED})\)")
RETURN = re.compile(r"\breturn (?!true;|false;)([^;]+);")
TYPE = (r"(?:struct|union|enum|const|unsigned|signed|static|int|long|bool|char|void|[us]\d+|__\w+|"
        r"\w+_t|DEFINE_\w+|LIST_HEAD|[A-Z_]+)\b")
STATEMENT = re.compile(rf"(?:(?<=\n)|\A)(\t+)(?!{TYPE}[ (]\**\w|return\b|case\b|default\b|if\b|"
                       r"for\b|while\b|do\b|switch\b|else\b|goto\b|\})[\w*(+-][^;{}]*;\n")
BEFORE_STATEMENT = re.compile(r"(?:\A|[;{}):]|\belse)\s*\Z")
# No test on x86 notices a barrier that is missing: litmus tests judge each.
BARRIER = re.compile(r"\s*(?:smp_\w*mb\w*|synchronize_rcu)\(\);\s*")
PAIRS = "< <= > >= == != && || + - | & << >> ++ -- += -= true false".split()
OTHER = dict(zip(PAIRS[::2], PAIRS[1::2])) | dict(zip(PAIRS[1::2], PAIRS[::2]))
WORDS = [
    ("compare", r" (<|<=|>|>=) ", OTHER.get),
    ("equal", r" (==|!=) ", OTHER.get),
    ("logic", r" (&&|\|\|)(?=\s)", OTHER.get),
    ("arithmetic", r"(?<=[\w)\]]) ([+-]) (?=\w|\(|\*)", OTHER.get),
    ("bits", r" ([|&]|<<|>>) ", OTHER.get),
    ("count", r"(\+\+|--|\+=|-=)", OTHER.get),
    ("truth", r"\b(true|false)\b", OTHER.get),
    ("error", r"\breturn (-E\w+|err|ret)(?=;)", lambda _: "0"),
    ("number", r"(?<![\w.\"])(\d+)(?=(?:U|UL|ULL)?\b)(?![.\w]*\w*x)", lambda n: str(int(n) + 1)),
    ("field", r"(?m)(^\t+\.\w+\s*=[^;{}]*?,\n)", lambda _: ""),
]


def functions(text):
    """Each of a file as (name, head, start, body), the body without what is inert."""
    code = INERT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for found in BODY.finditer(code):
        yield re.search(r"(\w+)\(", found[1])[1], found[1], found.start(2), found[2]


def changes_of(text, code, head):
    """Each change of a body as (rule, start, end, new); code is the text without what is inert."""
    wholes = [("negate", *found.span(1)) for found in CONDITION.finditer(code)]
    if re.search(r"\bbool\b[^(]*\(", head):
        wholes += [("return", *found.span(1)) for found in RETURN.finditer(code)]
    yield from ((*whole, f"!({text[slice(*whole[1:])]})") for whole in wholes)
    for rule, pattern, other in WORDS:
        for found in re.finditer(pattern, code):
            # Negated as a whole already
            if rule != "equal" or not any(start <= found.start() < end and
                                          not re.search(r"&&|\|\|", code[start:end])
                                          for _, start, end in wholes):
                yield rule, *found.span(1), other(found[1])
    statements = [found for found in STATEMENT.finditer(code)
                  if BEFORE_STATEMENT.search(code[:found.start()])]
    for found in statements:
        yield "drop", found.start() + len(found[1]), found.end(), ";\n"
    for one, two in zip(statements, statements[1:]):
        if one.end() == two.start() and one[1] == two[1]:
            start, middle, end = one.start(), one.end(), two.end()
            yield "swap", start, end, text[middle:end] + text[start:middle]


def mutants_of(file, text):
    for name, head, first, code in functions(text):
        inside, seen, numbers = text[first:first + len(code)], set(), collections.Counter()
        for rule, start, end, new in sorted(changes_of(inside, code, head), key=lambda it: it[:3]):
            numbers[rule] += 1
            same = re.sub(r"\s|;(?=;)", "", inside[:start] + new + inside[end:])
            if same not in seen and not (rule == "drop" and BARRIER.fullmatch(inside[start:end])):
                seen.add(same)
                yield Mutant(f"{file}:{name}:{rule}:{numbers[rule]}", file, name, first + start,
                             first + end, new)


def by_hand(files, table):
    """The bodies in the table, each below a line with the function (and a file) and its fault."""
    every = [(file, *one) for file, text in files.items() for one in functions(text)]
    for part, name, wrong, new in re.findall(
            r"^(?:(.*) )?(\w+): (.*)\n((?:\t.*\n|\n(?=\t))+)", table, re.MULTILINE):
        places = [one for one in every if one[1] == name and part in one[0]]
        if len(places) != 1:
            raise SystemExit(f"mutants: there are {len(places)} functions {name}()")
        file, _, _, start, body = places[0]
        yield Mutant(f"{file}:{name}:hand:{wrong.replace(' ', '-')}", file, name, start,
                     start + len(body), new)


def every(module, table):
    files = {str(path.relative_to(module)): path.read_text() for path in module.rglob("*.[ch]")
             if not re.search(r"uapi/|trace\.h", str(path))}
    return [*by_hand(files, table),
            *(mutant for file, text in files.items() for mutant in mutants_of(file, text))]


def pick(mutants, seed, number):
    """A mutant's place in the order depends on its id alone, so others may come and go."""
    return sorted(mutants, key=lambda one: hashlib.sha256(
        f"{seed} {one.id}".encode()).digest())[:int(number)]
