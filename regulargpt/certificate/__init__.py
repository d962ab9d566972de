"""From a trained network to a statement about every length.

search        what finds a proof, and is believed by nobody:
  codebook           where the prototypes come from: the true elements
  certify            a trained network in, the best codebook's proof out
  separation         prototypes to train towards, moved apart
  affine_forms       vectors in the network while states move in balls: linear maps exactly
  remainders         what LayerNorm, activation and product leave beyond their first order
  attention_remainder  what attention leaves
  expansion          the layers of a network on such vectors
  image_bounds       how far from its prototype the image of a window of balls can be; block_bounds, gated_bounds,
                     ldru_bounds, and which of them bounds a network (networks)
  invariant_balls    balls around the prototypes that the unquantised network maps into themselves
proof_phase   a proof in a training: sought, trained for, closed; a strategy says how, for each kind of network
towards_automaton  a strategy whose proof is about an automaton
tuning        trees: training until a certificate holds:
  phase              the strategy; state: the stages of a fine-tuning, and what follows for its steps
  target             the automaton that the certificate is about, known or learned
  fine_tuning        training on the table of a network that is certified, or nearly
  table_tuner        the table that is trained on, its prototypes and the order of its windows
  mending            training on the true table, with prototypes that learn; short_first: windows over short words first
  settling           training on a certified table's own errors, until they shrink on their way up the tree
  stability          what a certified network still needs: no drift, and of a small table balls
  last_layer         the last linear layer, solved for the table
stack         networks with a stack: search, the product with the language's machine; phase, training until it is a
              proof; outcome, what is said of it
chain         recurrent networks: points, boxes, the search for both, training until they hold, and what is said of it
refutation    networks whose states settle: words u v^n w on which they are wrong for ever, and what is said of it
checker       the independent checker: ball arithmetic, and none of the code above
record        certificate.json
compared      the automaton of a certificate beside the language
verdict       whether a run is proven now: by the checker, of its language
unquantised   the balls that prove a network without replacing its states, or why there are none
outcome       what is said of a trained network; sentences: the same in words

The finite table, its levels and the proof about it lie in regulargpt/finite.
"""
