"""Topics of a conversation, and exchanges that fit any of them. Both are ours; the form is LongEval's.

LongEval's conversations were written about one topic each. These exchanges name no topic, so that a topic stands in its
opening and its closing only, and conversations differ in which exchanges they have and in their order.
"""

WITHOUT_ARTICLE = """
mending of old clocks; migration of storks; music of street bands; baking of rye bread; design of playgrounds; history
of lighthouses; keeping of bees in cities; ethics of zoos; drying of mushrooms; building of stone walls; cost of school
meals; teaching of chess to children; rules of river fishing; planning of bicycle paths; sound of church bells;
translation of poems; care of house plants; effects of sleep on memory; recycling of glass; painting of wooden boats;
naming of storms; training of guide dogs; future of night trains; art of paper folding; restoration of film reels; use
of drones on farms; brewing of green tea; safety of mountain huts; language of road signs; making of puppets; economics
of small bakeries; habits of garden birds; psychology of colours in shops; history of the postage stamp; growing of
tomatoes on balconies; invention of the zip fastener; life of coral reefs; comfort of hospital rooms; tuning of pianos;
value of public libraries; fear of flying; storage of wind energy; collecting of sea shells; customs of harvest
festivals; repair of cracked pottery; tracking of wild wolves; work of volunteer firefighters; weaving of carpets;
reading of weather maps; return of local markets; sharing of cars among neighbours; training for a first marathon;
cleaning of beaches; humour of silent films; design of board games; protection of old forests; lives of ferry captains;
spread of community gardens; handwriting of doctors; science of frozen desserts
"""
TOPICS = tuple(f"the {topic}" for topic in " ".join(WITHOUT_ARTICLE.split()).split("; "))
OPENING = (
    "USER: I would like to discuss the topic of {topic}.",
    "ASSISTANT: Sure, I am glad to talk about that. What would you like to know?",
)
CLOSING = (
    "USER: Great, this is the end of our discussion on the topic of {topic}, let us talk about the next topic.",
    "ASSISTANT: With pleasure. I am ready whenever you are.",
)
# A question, then its answer on the lines behind it.
TALK = """
Why did people become interested in it in the first place?
Curiosity came first, and need soon after. Most accounts speak of a few people who tried things out, wrote down what
they saw, and showed it to their neighbours. From there it spread slowly, one conversation at a time.

What should a beginner know before anything else?
Start small and be patient. The first attempts seldom go well, and that is nothing to worry about. Choose one simple
goal, ask somebody with experience, and keep notes, because it is easy to forget what worked last month.

Is it expensive?
It need not be. A modest budget is enough for the first year if you borrow what you can and buy the rest second hand.
Costs grow only when you want the best of everything, which few people really need.

What mistakes do people make most often?
They hurry. Many skip the preparation since it looks dull, and then spend twice the time on corrections. Another common
mistake is to follow a single source of advice without asking whether it fits their own situation.

How has it changed over the last twenty years?
The tools are better, and information is much easier to find. On the other hand there are more opinions than before, and
it takes time to tell good ones from bad ones. The basic ideas have hardly changed at all.

Does it differ from country to country?
Yes, and quite a lot. Climate, law and habit all play a part. In some places it is a matter for professionals only,
while in others nearly every family has somebody who knows about it and is happy to explain.

Are there any good books you would recommend?
There are several. I would begin with a short introduction that has many pictures, and go on to one of the longer
handbooks later. A local library will probably have both, and the staff can often suggest something newer.

How long does it take until one is any good?
With an hour or two a week, most people feel at home after about half a year. Real skill takes longer, perhaps five
years, but the pleasure of it begins much earlier, usually with the first small success.

Can children take part?
They can, and they often learn faster than adults. Somebody should stay near them at the beginning and explain what is
dangerous. It helps to give them a task that is really theirs, and to let them finish it.

What do critics say about it?
Some say that it takes too much time and brings too little. Others worry about the environment. Both points deserve an
honest answer, and those who know the subject well usually admit that it is not for everyone.

Is there any scientific evidence?
There is some. A number of careful studies were made, mostly with few participants, and they tend to agree with what
experienced people have always said. Larger studies would be welcome, but they are hard to pay for.

Where can I meet others who care about it?
Look for a club nearby, or a weekly meeting in a community centre. Notices still hang in shops and schools. If there is
nothing where you live, two or three interested people are enough to begin a group.

What role does the law play?
A smaller one than many expect. A few rules protect other people and their property, and you should read them once with
care. Beyond that it is mostly a matter of courtesy, and of asking before you act.

How do I know whether I am making progress?
Compare yourself with where you were three months ago rather than with other people. Photographs and short notes help a
great deal. If you can explain to a friend what you are doing and why, you have learned something.

What is the most surprising fact about it?
Many are surprised by how old it is. Traces of it turn up in letters that are several hundred years old, with the same
complaints that we hear today. People have always argued about the best way to do it.

Which season is the best to begin?
Early spring suits most people, since days become longer and there is time to learn before the summer. Autumn works too
if you prefer quiet. What matters more is that you have a few free evenings in a row.

Could you tell me about a famous person who did this?
There was a retired teacher who spent thirty years on it and wrote a diary about every day. The diary was never meant to
be printed. After a newspaper quoted one page of it, letters arrived from all over the world.

What will it look like in the future?
Nobody can be sure. I expect that machines will take over the dull parts, and that people will keep those that they
enjoy. The knowledge itself will stay, as long as somebody takes the trouble to pass it on.

Is it good for one's health?
In moderation it is. It gets you out of your chair and takes your mind off work, and many sleep better after a day of
it. As with most things, too much at once does more harm than good.

How would you explain it to somebody in one minute?
I would say that it looks complicated from a distance, and simple once you stand in front of it. There are three or four
ideas that explain nearly all of the rest, and each of them can be shown with your hands.
"""
EXCHANGES = tuple(
    (question, " ".join(answer.split()))
    for question, answer in (exchange.split("\n", 1) for exchange in TALK.strip().split("\n\n"))
)
