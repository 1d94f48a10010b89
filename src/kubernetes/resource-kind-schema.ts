/**
 * A kind in the configuration: `GROUP/VERSION/RESOURCE`, or `VERSION/RESOURCE` of the core group.
 */
import { z } from 'zod';
import { checked } from '../lib/schema-fields.ts';
import type { ResourceKind } from './kubernetes-object.ts';

const KIND = 'GROUP/VERSION/RESOURCE, such as batch/v1/cronjobs, or VERSION/RESOURCE of the core group';
const PARTS = /^(?:([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)\/)?(v\d+(?:(?:alpha|beta)\d+)?)\/([a-z][a-z0-9-]*)$/;

export interface KindRules {
  readonly namespaced: boolean;
  /** Kinds that may be named by the resource alone. */
  readonly known?: readonly ResourceKind[];
  /** @returns why it must not be named, continuing "which …" */
  readonly problem: (kind: ResourceKind) => string | undefined;
}

/** @returns the pattern is for the chart too, which grants rights on what the values name */
export function resourceKind({ namespaced, known = [], problem }: KindRules) {
  const names = known.map(({ resource }) => resource);
  const pattern = new RegExp([...names.map((name) => `^${name}$`), PARTS.source].join('|'));
  const readKind = (given: string): ResourceKind => {
    const [, group = '', version = '', resource = ''] = PARTS.exec(given) ?? [];
    return known.find((kind) => kind.resource === given) ?? { group, version, resource, namespaced };
  };
  return z
    .string()
    .regex(pattern, { error: [...names, KIND].join(', or '), abort: true })
    .superRefine(checked('another kind', (given) => problem(readKind(given))))
    .transform(readKind);
}
