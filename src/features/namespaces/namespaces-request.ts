/**
 * A list or watch of namespaces that is answered from the RBAC index, and what it needs.
 */

import { StatusError } from '../../errors/status-error.ts';
import {
  type FieldSelector,
  fieldsMatch,
  parseFieldSelector,
} from '../../kubernetes/lists/field-selector.ts';
import {
  type LabelSelector,
  labelsMatch,
  parseLabelSelector,
} from '../../kubernetes/lists/label-selector.ts';
import type { ListOptions } from '../../kubernetes/lists/list-options.ts';
import { withoutDigits } from '../../kubernetes/lists/shown-revision.ts';
import type { StoredNamespace } from '../../kubernetes/rbac-v1.ts';
import { type Clock, waitUntil } from '../../lib/clock.ts';
import type { AccessSubjects } from '../../proxy/access-subject.ts';
import type { FilteringOptions } from '../../proxy/answer-filtered.ts';
import type { Outgoing } from '../../proxy/request-context.ts';
import type { ListRequest } from '../../proxy/route-kind.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { SharedIndex } from '../rbac-index/feature.ts';
import type { CreatedNamespaces } from './created-namespaces.ts';
import type { VisibleNamespaces, VisibleNamespacesCache } from './visible-namespaces.ts';

/** State about users that lives as long as the index. */
export interface NamespacesMemory {
  readonly views: VisibleNamespacesCache;
  readonly created: CreatedNamespaces;
}

export interface FilteredNamespacesOptions
  extends Pick<SharedIndex, 'access' | 'lifetimes'>,
    FilteringOptions {
  readonly memory: NamespacesMemory;
  readonly subjects: AccessSubjects;
  readonly mode: Pick<TenancyMode, 'reviewTenant' | 'isSystem'>;
  readonly verifier: Pick<SharedIndex['verifier'], 'sampleNamespaces'>;
  readonly clock: Clock;
}

export interface NamespacesRequest {
  readonly outgoing: Outgoing;
  readonly info: ListRequest;
  readonly subject: SubjectByNamespace;
  /** The tenant whose namespaces are shown; empty if the API server has no tenants. */
  readonly tenant: string;
  readonly options: ListOptions;
  readonly selection: NamespaceSelection;
}

/** The user's namespaces, as the index has them now. */
export function viewOf(
  { subject, tenant }: Pick<NamespacesRequest, 'subject' | 'tenant'>,
  { memory }: Pick<FilteredNamespacesOptions, 'memory'>,
): VisibleNamespaces {
  return memory.views.viewOf(subject, tenant);
}

/** Milliseconds for which a request waits for the index. */
export const INDEX_TIMEOUT = 3_000;

/** @throws StatusError ResourceVersionTooLarge, in the API server's words */
export async function waitForRevision(
  { outgoing, options }: NamespacesRequest,
  { access: { index }, clock }: FilteredNamespacesOptions,
): Promise<void> {
  const asked = withoutDigits(options.resourceVersion, index.highestRevision);
  const isReached = () => BigInt(asked) <= BigInt(index.highestRevision);
  if (await waitUntil(isReached, clock, INDEX_TIMEOUT, outgoing.exchange.signal)) return;
  throw new StatusError(
    'ResourceVersionTooLarge',
    `Timeout: Too large resource version: ${asked}, current: ${index.highestRevision}`,
    {
      details: {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      },
    },
  );
}

/** The namespaces that a request selects among those that the user sees. */
export class NamespaceSelection {
  readonly #labels: LabelSelector;
  readonly #fields: FieldSelector;
  /** Empty for all: of a watch of one namespace by its path. */
  readonly #name: string;

  /** @throws StatusError RequestMalformed */
  constructor(options: Pick<ListOptions, 'labelSelector' | 'fieldSelector'>, name: string) {
    this.#labels = parseLabelSelector(options.labelSelector);
    this.#fields = parseFieldSelector(options.fieldSelector);
    this.#name = name;
  }

  matches({ name, labels, phase }: Pick<StoredNamespace, 'name' | 'labels' | 'phase'>): boolean {
    if (this.#name !== '' && name !== this.#name) return false;
    if (this.#labels.length > 0 && !labelsMatch(this.#labels, labels)) return false;
    return (
      this.#fields.length === 0 || fieldsMatch(this.#fields, { 'metadata.name': name, 'status.phase': phase })
    );
  }
}
