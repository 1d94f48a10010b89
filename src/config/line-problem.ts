/**
 * All that is ever said of a line in a file of people: sentences that stand here, and numbers of lines. Nothing of the
 * line itself, not even a name: with a comma in a password that is not quoted, what seems to be the name is a part of the
 * password. That nothing else can be said is the type's business.
 */
import { RESERVED_PREFIXES } from '../api/reserved-names.ts';

/** 2^17 rounds take some ten seconds. */
export const MAX_BCRYPT_COST = 17;

const [SYSTEM, KEYSTONE, STONEGATE] = RESERVED_PREFIXES;
const NO_TENANT =
  'expected a tenant in the last column, with an empty column before it (secret,user,uid,"groups",,tenant)';

export const LINE_PROBLEMS = {
  tooShort: 'expected at least secret, user name and uid',
  unprintable:
    'expected names without control characters and without blanks at their ends, and a user name (a secret with a comma in it needs quotation marks)',
  reserved: `expected names that do not begin with ${SYSTEM}, ${KEYSTONE} or ${STONEGATE}, which are reserved`,
  groupOrTenant:
    'expected the tenant two columns further (secret,user,uid,,tenant), found one column that is group and tenant at once',
  noTenant: NO_TENANT,
  onlyGroups: `${NO_TENANT}; the last one here is read as groups`,
  badTenant: 'expected a tenant name in the last column: a DNS-1123 label',
  everyTenant: 'expected another tenant: "all" stands for every tenant at once',
  badToken: 'expected a token of visible ASCII characters',
  keystoneToken: 'expected a token that does not look like one of Keystone',
  colon: 'expected a user name without ":", which HTTP\'s basic scheme cannot send',
  noPassword: 'expected a password, found none',
  bcryptCost: `expected a bcrypt cost from 4 to ${MAX_BCRYPT_COST}`,
  scryptParameters: 'expected scrypt parameters that take at most 256 MiB, and a p of at most 16',
  unknownHash:
    'expected a password, a bcrypt hash ($2b$…) or a scrypt hash ("$scrypt$ln=…,r=…,p=…$salt$hash", in quotation marks for its commas), found a hash of another kind, or a broken one',
} as const;

/** Another line has it already. */
type TwinProblem =
  | `expected a token of its own, found the one of line ${number}`
  | `expected a name of its own, found the one of line ${number}: the name alone says who logs in, in all tenants`;

export type LineProblem = (typeof LINE_PROBLEMS)[keyof typeof LINE_PROBLEMS] | TwinProblem;
