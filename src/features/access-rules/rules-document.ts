/**
 * The status of an access rules document: the compiled rules with their revision, whether they are complete,
 * and for how long they count.
 */
import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { StatusError } from '../../errors/status-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { timestamp } from '../../lib/go-time.ts';
import { KeyedSemaphore } from '../../limits/keyed-semaphore.ts';
import { ACCESS_RULES_BYTES } from '../../limits/memory-bounds.ts';
import { incompleteRulesReason, type RulesTrust } from '../../rbac/access-index.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import { namespacesAllowed } from '../../rbac/enumerate.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';
import { TOO_WIDE } from '../../rbac/scoped-rules.ts';
import { fingerprintOfSubject } from '../../rbac/subject-key.ts';
import type { TenantObjects } from '../../rbac/tenant-objects.ts';
import { type CompiledAccessRules, compileAccessRules } from './access-rules.ts';
import type { AccessRulesStatus, RulesSelection, SelfAccessRules } from './access-rules-v1alpha1.ts';

/** Milliseconds for which a document counts at most. */
const MAX_VALIDITY = 10 * 60_000;
const CUT = 'the rules are more than one document holds: ask for one verb or namespace';

/** Evaluations that wait: of one tenant, of all. */
const QUEUE_OF_TENANT = 64;
const QUEUE = 1_024;
/** Milliseconds. */
const QUEUE_TIMEOUT = 10_000;

export interface RulesDocument {
  readonly status: AccessRulesStatus;
  /** Milliseconds since the epoch. */
  readonly validUntil: number;
  /** A digest of the status without revision and validity. */
  readonly digest: string;
}

export interface RulesQuery {
  readonly subject: SubjectByNamespace;
  readonly selection: RulesSelection;
  /** When the credential expires, in milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Aborted when the client that waits disconnects. */
  readonly signal: AbortSignal;
}

export interface RulesDocuments {
  /**
   * @throws StatusError AccessIndexUnavailable if the index has never been complete; TenantRateExceeded
   */
  documentOf(asked: RulesQuery): Promise<RulesDocument>;
}

/** A set of namespaces that clients ask for by name: those in which this may be done. */
export type NamedSet = {
  readonly name: string;
  readonly verb: string;
  readonly apiGroup: string;
  readonly resource: string;
  readonly subresource: string;
};

export interface RulesDocumentsOptions extends RulesTrust {
  readonly namedSets: readonly NamedSet[];
  readonly clock: Clock;
}

export function createRulesDocuments(options: RulesDocumentsOptions): RulesDocuments {
  const { access, namedSets, clock } = options;
  const rulesOf = createEvaluation(access.index, clock);
  return {
    async documentOf({ subject, selection, expiresAt, signal }) {
      const { tenant } = subject.cluster;
      const { namespace } = selection;
      const scope = namespace === undefined ? 'all' : { namespace };
      const incompleteReason = incompleteRulesReason(tenant, scope, options);
      if (access.state(tenant) === 'notSynced')
        throw new StatusError(
          'AccessIndexUnavailable',
          `access rules are not known yet: ${incompleteReason ?? 'the index is being built'}`,
        );
      const { rules, isCut, isTooWide, room, digest } = await rulesOf(subject, selection, signal);
      let left = room;
      const sets: Record<string, readonly string[]> = {};
      for (const { name, ...question } of namedSets) {
        const allowed = namespacesAllowed(access.index, subject, { ...question, tenant, name: '' });
        sets[name] = allowed.filter((namespace) => {
          left -= Buffer.byteLength(JSON.stringify(namespace)) + ','.length;
          return left >= 0;
        });
      }
      const cut = isCut || left < 0 ? CUT : undefined;
      const reason = cut ?? (isTooWide ? TOO_WIDE : undefined) ?? incompleteReason;
      const validUntil = Math.min(clock.now() + MAX_VALIDITY, expiresAt);
      return {
        status: {
          verb: selection.verb,
          ...(tenant !== '' && { tenant }),
          revision: String(access.index.revision),
          incomplete: reason !== undefined,
          ...(reason !== undefined && { incompleteReason: reason }),
          validUntil: timestamp(validUntil),
          ...rules,
          sets,
        },
        validUntil,
        digest: hash('sha256', JSON.stringify([digest, sets, reason]), 'base64url'),
      };
    },
  };
}

/** Memory of a document for each character of its JSON: objects and strings. */
const BYTES_PER_CHARACTER = 4;
const ENTRY_BYTES = 500;

interface CachedRules extends CompiledAccessRules {
  /** Equal if and only if the rules are. */
  readonly digest: string;
  readonly objects: TenantObjects;
  /** The version of the objects from which the rules were compiled. */
  readonly version: number;
  readonly bytes: number;
}

function compiledRules(
  index: RBACIndex,
  subject: SubjectByNamespace,
  selection: RulesSelection,
): CachedRules {
  const objects = index.objectsOf(subject.cluster.tenant);
  const compiled = compileAccessRules(index, subject, selection);
  const text = JSON.stringify([compiled.rules, compiled.isCut]);
  return {
    ...compiled,
    digest: hash('sha256', text, 'base64url'),
    objects,
    version: objects.version,
    bytes: text.length * BYTES_PER_CHARACTER + ENTRY_BYTES,
  };
}

/** A digest, since a user may have hundreds of groups. */
function keyOf(subject: SubjectByNamespace, selection: RulesSelection): string {
  const { verb, apiGroup = null, resource = null, namespace = null } = selection;
  const facts = [fingerprintOfSubject(subject), verb, apiGroup, resource, namespace];
  return hash('sha256', JSON.stringify(facts), 'base64url');
}

/**
 * The compiled access rules of users, cached within one bound of memory until any role or binding of the
 * tenant changes. Evaluations take tens of milliseconds at most: one in each turn of the event loop, by
 * tenants in turn.
 */
function createEvaluation(index: RBACIndex, clock: Clock) {
  const entries = new LRUCache<string, CachedRules>({
    maxSize: ACCESS_RULES_BYTES,
    sizeCalculation: ({ bytes }) => bytes,
  });
  const turns = new KeyedSemaphore({
    clock,
    permits: 1,
    permitsPerKey: 1,
    queue: QUEUE,
    queuePerKey: QUEUE_OF_TENANT,
    queueTimeout: QUEUE_TIMEOUT,
    refusal: tooMany,
  });
  return async (
    subject: SubjectByNamespace,
    selection: RulesSelection,
    signal: AbortSignal,
  ): Promise<CachedRules> => {
    const { home, tenant } = subject.cluster;
    const key = keyOf(subject, selection);
    const known = () => {
      const entry = entries.get(key);
      const objects = index.objectsOf(tenant);
      return entry?.objects === objects && entry.version === objects.version ? entry : undefined;
    };
    const cached = known();
    if (cached !== undefined) return cached;
    const turn = turns.of(home ?? tenant);
    // A client that has left gets no response.
    if (!(await turn.acquire(signal))) throw tooMany();
    try {
      await nextTurn();
      // Another request of the user may have waited for the same.
      const rules = known() ?? compiledRules(index, subject, selection);
      entries.set(key, rules);
      return rules;
    } finally {
      turn.release();
    }
  };
}

function tooMany(): StatusError {
  return new StatusError(
    'TenantRateExceeded',
    'Too many requests, please try again later: too many evaluations of access rules wait',
  );
}

export function selfAccessRules({ status }: RulesDocument): SelfAccessRules {
  return {
    kind: 'SelfAccessRules',
    apiVersion: 'stonegate.dev/v1alpha1',
    metadata: { creationTimestamp: null, resourceVersion: status.revision },
    status,
  };
}
