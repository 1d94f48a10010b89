/** Pods and the checks of the Pod Security Standards, as unit tests write them down. */
import type { Test } from 'tap';
import { podPartOf } from '../../src/features/admission/pod-part.ts';
import type { PodSecurityLevel } from '../../src/features/admission/pod-security/check.ts';
import {
  type PodSecurityViolation,
  podSecurityMessage,
  podSecurityVersion,
  podSecurityViolations,
} from '../../src/features/admission/pod-security/evaluate.ts';

export type Fields = Readonly<Record<string, unknown>>;

export const NEWEST_MINOR = 36;

export interface CheckCase {
  readonly check: string;
  readonly spec: Fields;
  readonly annotations?: Fields;
  /** The versions in which the pod is forbidden, from the first to the last; empty if in none. */
  readonly in: readonly [] | readonly [first: number, last: number];
  /** The message in the first of them. */
  readonly says?: string;
  /** The path of the first violation. */
  readonly at?: string;
}

export const ALWAYS = [0, NEWEST_MINOR] as const;
export const NEVER = [] as const;

/** The path of the container of `one`. */
export const C = 'spec.containers[0]';

export function container(fields: Fields = {}): Fields {
  return { name: 'c', ...fields };
}

/** A pod of one container. */
export function one(securityContext: Fields): Fields {
  return { containers: [container({ securityContext })] };
}

export function violationsOf(object: unknown, level: PodSecurityLevel, name: string): PodSecurityViolation[] {
  const version = podSecurityVersion(name);
  const part = podPartOf('', 'pods', object);
  if (version === undefined || part === undefined) throw new TypeError(name);
  return podSecurityViolations(part, { level, version });
}

/** Empty if the pod is allowed. */
export function messageOf(object: unknown, level: PodSecurityLevel, version: string): string {
  return podSecurityMessage(violationsOf(object, level, version));
}

/** What the check alone does in every version. */
export function testCheck(t: Test, level: PodSecurityLevel, testCase: CheckCase): void {
  const { check, spec, annotations = {}, in: versions, says, at } = testCase;
  const violationsIn = (minor: number) =>
    violationsOf({ metadata: { annotations }, spec }, level, `v1.${minor}`).filter(
      ({ rule }) => rule === check,
    );
  const minors = Array.from({ length: NEWEST_MINOR + 1 }, (_, minor) => minor);
  const [first, last] = versions;
  t.strictSame(
    minors.filter((minor) => violationsIn(minor).length > 0),
    minors.filter((minor) => first !== undefined && last !== undefined && first <= minor && minor <= last),
    'the versions that forbid it',
  );
  if (first === undefined) return;
  const violations = violationsIn(first);
  if (says !== undefined) t.equal(podSecurityMessage(violations), says);
  if (at !== undefined) t.equal(violations[0]?.path, at);
}
