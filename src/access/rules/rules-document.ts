/**
 * The status of an access rules document: the compiled rules with their revision, whether they are complete,
 * and for how long they count.
 */
import type { AccessRulesStatus, RulesSelection, SelfAccessRules } from '../../api/access-rules-v1alpha1.ts';
import type { AuthorizationMode } from '../../api/authorization-mode.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { timestamp } from '../../lib/kubernetes-time.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import { doubtAbout } from '../incomplete-rules.ts';
import type { AccessIndex } from '../ports.ts';
import type { Verifier } from '../verification.ts';
import type { CompiledRules, RulesCache } from './rules-cache.ts';
import { RulesEvaluations } from './rules-evaluations.ts';
import { sampledRule } from './sampled-rule.ts';

/** Milliseconds for which a document counts at most. */
const MAX_VALIDITY = 10 * 60_000;

const TRUNCATED = 'rules that stand for too many grants are left out';
const CHANGING = "the user's rights changed while they were evaluated";
/** Namespaces that a reason names. */
const MAX_NAMED = 3;

export interface RulesDocument {
  readonly status: AccessRulesStatus;
  /** Milliseconds since the epoch. */
  readonly validUntil: number;
  /** Of the status without revision and validity. */
  readonly digest: string;
}

export interface AskedRules {
  readonly subject: SubjectByNamespace;
  readonly selection: RulesSelection;
  /** Of the credential, in milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Of the client that waits. */
  readonly signal: AbortSignal;
}

export interface RulesDocuments {
  readonly access: AccessIndex;
  readonly cache: RulesCache;
  /**
   * @throws StatusError AccessIndexUnavailable if the index has never been complete; TenantRateExceeded
   */
  documentOf(asked: AskedRules): Promise<RulesDocument>;
}

export interface RulesDocumentsOptions {
  readonly access: AccessIndex;
  readonly cache: RulesCache;
  readonly verifier: Pick<Verifier, 'sampleOne'>;
  /** As the operator states them. */
  readonly authorizers: readonly AuthorizationMode[];
  readonly clock: Clock;
}

export function createRulesDocuments(options: RulesDocumentsOptions): RulesDocuments {
  const { access, cache, verifier, clock } = options;
  const evaluations = new RulesEvaluations({ cache, clock });
  return {
    access,
    cache,
    async documentOf({ subject, selection, expiresAt, signal }) {
      const { tenant } = subject.cluster;
      const { namespace } = selection;
      const scope = namespace === undefined ? 'all' : { namespace };
      const doubt = doubtAbout(tenant, scope, options);
      if (access.state(tenant) === 'notSynced')
        throw new StatusError(
          'AccessIndexUnavailable',
          `access rules are not known yet: ${doubt ?? 'the index is being built'}`,
        );
      const { compiled, isChanging } = await evaluations.rulesOf(subject, selection, signal);
      const { rules, sets, digest } = compiled;
      verifier.sampleOne((draw) => sampledRule(access.index, subject, rules, selection, draw));
      const reason = (isChanging ? CHANGING : undefined) ?? truncation(compiled) ?? doubt;
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
        digest: reason === undefined ? digest : `${digest}.${Buffer.from(reason).toString('base64url')}`,
      };
    },
  };
}

/** @returns undefined if no rules were left out */
function truncation({ isTruncated, leftOut }: CompiledRules): string | undefined {
  if (!isTruncated || leftOut.length === 0) return isTruncated ? TRUNCATED : undefined;
  const named = leftOut.slice(0, MAX_NAMED).join(', ');
  const others = leftOut.length > MAX_NAMED ? ` and ${leftOut.length - MAX_NAMED} more namespaces` : '';
  return `${TRUNCATED}, all of them in ${named}${others}`;
}

export function selfAccessRules({ status }: RulesDocument): SelfAccessRules {
  return {
    kind: 'SelfAccessRules',
    apiVersion: 'stonegate.dev/v1alpha1',
    metadata: { creationTimestamp: null, resourceVersion: status.revision },
    status,
  };
}
