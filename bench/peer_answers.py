"""What the comparisons with other libraries' eigensolvers share: how answers are counted and settings are written."""


def count_missed(found, exact, accuracy):
    """How many exact eigenvalues, copies counted, have no partner of their own among those found. Both ascending."""
    rest, missed = list(found), 0
    for value in exact:
        partner = next((x for x in rest if abs(x - value) <= accuracy), None)
        if partner is None:
            missed += 1
        else:
            rest.remove(partner)
    return missed


def describe(setting):
    """ "ncv 40, block 4" """
    return ", ".join(f"{key} {value or 'default'}" for key, value in setting.items()) or "defaults"
