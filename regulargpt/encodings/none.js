// No positional encoding.

import { Encoding } from "./base.js";

export class NoEncoding extends Encoding {}
