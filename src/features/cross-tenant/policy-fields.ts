/**
 * Checks of the fields that the forms of policies share: names, subjects, namespaces and the end. A missing
 * field means nothing, never everything: `*` must be written.
 */
import {
  isOneTenant,
  labelProblem,
  reservedGroupPrefix,
  reservedUserPrefix,
} from '../../kubernetes/reserved-names.ts';
import { parseTimestamp } from '../../lib/go-time.ts';
import { isPrintable } from '../../lib/untrusted-text.ts';
import { InvalidPolicy, invalid } from '../../rbac/invalid-policy.ts';
import type { Policy, PolicySubject } from './policy.ts';
import { type CrossTenantSubject, MAX_NAME_LENGTH } from './tenancy-v1alpha1.ts';

const EVERY = '*';

/** @throws InvalidPolicy if it cannot be the name of a policy, of which roles and groups are made */
export function checkName(name: string): void {
  const problem = labelProblem(name);
  if (problem !== undefined) throw invalid(`metadata.name ${problem}`);
}

/**
 * @param entered the tenant that the policy lets users into
 * @throws InvalidPolicy
 */
export function subjectOf(
  { kind, tenant, name }: CrossTenantSubject,
  entered: string,
  field: string,
): PolicySubject {
  if (!isOneTenant(tenant)) throw invalid(`${field}.tenant is not the name of a tenant`);
  if (tenant === entered) throw invalid(`${field}.tenant is this tenant, whose users are not guests here`);
  if (kind === 'Group') {
    checkGroup(name, `${field}.name`);
    return { tenant, group: name };
  }
  if (name !== EVERY) checkUser(name, `${field}.name`);
  return { tenant, user: name };
}

function checkUser(name: string, field: string): void {
  checkText(name, field);
  const prefix = reservedUserPrefix(name);
  if (prefix !== undefined) throw invalid(`${field} begins with ${prefix}, as no user within a tenant does`);
}

/** @throws InvalidPolicy */
export function checkGroup(name: string, field: string): void {
  if (name === EVERY) throw invalid(`${field} is *: every user of a tenant is the user *`);
  checkText(name, field);
  const prefix = reservedGroupPrefix(name);
  if (prefix !== undefined) throw invalid(`${field} begins with ${prefix}: such groups are not a tenant's`);
}

function checkText(text: string, field: string): void {
  if (!isPrintable(text) || text.length > MAX_NAME_LENGTH) throw invalid(`${field} cannot be a name`);
}

/** @throws InvalidPolicy */
export function namespacesOf(names: readonly string[], field: string): Policy['namespaces'] {
  if (names.includes(EVERY)) {
    if (names.length > 1) throw invalid(`${field} has other names besides *`);
    return 'all';
  }
  names.forEach((name, at) => {
    const problem = labelProblem(name);
    if (problem !== undefined) throw invalid(`${field}[${at}] ${problem}`);
  });
  return new Set(names);
}

/**
 * @returns milliseconds since the epoch; undefined without one
 * @throws InvalidPolicy
 */
export function endOf(notAfter: string | undefined, field: string): number | undefined {
  if (notAfter === undefined) return undefined;
  const end = parseTimestamp(notAfter);
  if (end === undefined) throw invalid(`${field} is no time in RFC 3339, such as 2027-03-31T00:00:00Z`);
  return end;
}

/** @throws InvalidPolicy if the policy has ended */
export function checkEnd(notAfter: number | undefined, now: number): void {
  if (notAfter !== undefined && notAfter <= now)
    throw new InvalidPolicy('Ended', `it ended at ${new Date(notAfter).toISOString()}`);
}
