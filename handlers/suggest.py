"""Did you mean …? Offered only when one word stands out, as a wrong offer costs more than none."""

_SHORTEST = 3
_LONGEST = 40
_LONG_WORD = 6
_FORGIVEN = 2
_MOST_LETTERS = 0.8


def closest(word: str, known: tuple[str, ...]) -> str | None:
    """The one word of `known` that was probably meant by `word`, or None when that is not clear.

    One slip (a letter missing, added, wrong, or two swapped) is forgiven; two only in a long word whose start
    and most letters agree, else `rename` would be offered as `resume`. An abbreviation of three or more
    letters counts when only one word starts with it.
    """
    if not word.isascii():
        word = "".join(character if character.isascii() else "?" for character in word)
    word = word.lower()
    if len(word) < _SHORTEST or len(word) > _LONGEST:
        return None
    begun = [candidate for candidate in known if candidate.startswith(word)]
    if begun:
        return begun[0] if len(begun) == 1 else None
    slips = {candidate: _slips(word, candidate) for candidate in known}
    near = [candidate for candidate, count in slips.items() if count == 1]
    if not near:
        near = [c for c, count in slips.items() if count == _FORGIVEN and _mostly_agree(word, c)]
    return near[0] if len(near) == 1 else None


def _mostly_agree(word: str, candidate: str) -> bool:
    common = sum(min(word.count(letter), candidate.count(letter)) for letter in set(word))
    alike = 2 * common / (len(word) + len(candidate))
    return len(candidate) >= _LONG_WORD and word[0] == candidate[0] and alike > _MOST_LETTERS


def _slips(one: str, other: str) -> int:
    """Edits between two words, with two swapped neighbours counted as one (optimal string alignment)."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        row = [i]
        for j, opposite in enumerate(other, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != opposite))
            if i > 1 and j > 1 and letter == other[j - 2] and opposite == one[i - 2]:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
