/** The data file of built-in kinds equals the output of the program that generates it. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import t from 'tap';
import { kinds, missing } from '../support/kubernetes/programs.ts';

t.test(
  'src/kubernetes/kubernetes-kinds.json is the output of `npm run kinds`',
  { skip: missing(kinds()) },
  async (t) => {
    t.equal(
      execFileSync(kinds(), { encoding: 'utf8' }),
      readFileSync('src/kubernetes/kubernetes-kinds.json', 'utf8'),
    );
  },
);
