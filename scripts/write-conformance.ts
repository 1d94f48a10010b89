/**
 * `npm run conformance`: writes `docs/reference/conformance.md` from the cases and the tests that name them.
 */
import { writeFileSync } from 'node:fs';
import { conformancePage, PAGE, readConformance } from './conformance.ts';

writeFileSync(PAGE, conformancePage(readConformance()));
