"""Adjectives and nouns for the names of lines, as `torrid-kid`."""

OF_THINGS = """
able ancient bitter blue bold brave brief bright broad calm careful cheap clean clever cold common crisp curious
damp dark deep distant dry dusty eager early easy empty faint fair famous fast fierce firm flat fond fragile free
fresh gentle giant glad golden graceful grand green happy hard harsh heavy hollow honest huge humble hungry icy idle
jolly keen kind large late lazy light little lively lonely long loud lucky mellow mild modest narrow neat new noble
odd old open pale patient plain polite proud pure quaint quick quiet rapid rare rough round rusty sad safe sharp
short shy silent silver simple slow small smooth soft solid sour steady steep stiff strange strong sturdy sudden
sweet swift tall tame tender thick thin tidy tiny torrid tough vague vast warm weak wet wide wild wise witty young
"""
THINGS = """
actor anchor apple arrow artist autumn badge baker basket beach bell bird boat bottle bread bridge brother brush
bucket butter button camel candle captain carpet castle chain chair cheese child circle city cloud coat coin cook
corner cousin cricket crown cup dancer desk dinner doctor dog door dragon drawer dress drum eagle engine farmer
feather fence field finger flag flower forest fountain fox friend garden gate giraffe glass glove guest guitar
hammer harbor hat hill horse hotel house island jacket jewel judge kettle key kid king kitchen knife ladder lake
lamp leaf lemon letter lion market meadow melon mirror monkey moon morning mountain mouse music needle nest office
onion orange oven owl painter paper pencil pepper piano pigeon pillow pilot pocket poet pond potato queen rabbit
rain ribbon river road rocket roof rope sailor salad school shadow sheep ship shirt shoe shoulder singer sister snow
soap soldier spoon spring stable station stone storm street summer sun table tailor teacher temple thunder tiger
ticket tower train tree trumpet turtle uncle valley village violin wagon walker wall water whale wheel window winter
wolf yard zebra
"""
ADJECTIVES, NOUNS = tuple(OF_THINGS.split()), tuple(THINGS.split())


def name(at: int) -> str:
    """The name of a number below as many as there are pairs.

    >>> name(0)
    'able-actor'
    """
    return f"{ADJECTIVES[at // len(NOUNS)]}-{NOUNS[at % len(NOUNS)]}"
