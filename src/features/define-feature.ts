/**
 * What a feature declares: everything over which commands, manifests and references iterate. What it does
 * while it serves is in its `build.ts`, which no command loads that only needs the data.
 */
import type { z } from 'zod';
import type { FileContent } from '../config/parse.ts';
import type { Finding, Problem, Rule } from '../config/problem.ts';
import type { Parts } from '../config/scope.ts';
import type { ReviewedWrite, WebhookPlace } from '../kubernetes/admissionregistration-v1.ts';
import type { CustomResource } from '../kubernetes/custom-resource.ts';
import type { Objects } from '../kubernetes/objects.ts';
import type { Condition, ConfigurationPath, ProvisionerRight, Right } from '../kubernetes/right.ts';
import type { UpstreamFetcher } from '../kubernetes/upstream-ports.ts';
import type { MetricDefinition } from '../lib/metric.ts';
import type { SecretSource } from '../lib/schema-files.ts';
import type { OwnResource } from '../proxy/own-api.ts';
import type { ListenerSettings } from './listener-settings.ts';

/** Where the content of the configuration's files and its secrets are read. */
export interface FilesAndSecrets {
  file(name: string): Buffer;
  secret(source: SecretSource): string;
}

/** A kind of objects that Stonegate stores at the API server. */
export interface StoredKind {
  readonly definition: CustomResource;
  /** Conditions on the tenancy mode without which the kind is not stored; every mode stores it by default. */
  readonly modes?: readonly Condition[];
  /** The section of the configuration that needs it. */
  readonly section: string;
  /** The conditions under which that section needs it. */
  readonly when: readonly Condition[];
  /** What happens as long as the API server does not have it. */
  readonly consequence: string;
}

/** @typeParam C what the feature reads of the configuration */
export interface FeatureDefinition<S extends z.ZodRawShape, C, P extends Parts> {
  /** Also the name of its folder. */
  readonly name: string;
  /** Its sections of the configuration. */
  readonly sections: S;
  /** Rules between its sections and others. */
  rules?(configuration: C): readonly Rule[];
  /** Settings for which users miss something, and only the operator can see why. */
  warnings?(configuration: C): readonly Rule[];
  /** Checks the files that have a format of their own, as far as they could be read. */
  checkFiles?(configuration: C, content: FileContent): readonly Finding[];
  /** Writes that a webhook of its own reviews, each at its path. */
  reviewedWrites?(configuration: C): readonly ReviewedWrite[];
  /** Its own listener. Its section has the feature's name and a field `bind`. */
  listener?(configuration: C): ListenerSettings | undefined;
  /** Fields whose change needs a restart. */
  readonly restartFields?: readonly string[];
  /** What the impersonating credential needs at the API server. */
  readonly rights?: readonly Right[];
  /** References to the ConfigMaps with its rules, which that credential reads. */
  readonly ruleConfigMaps?: readonly ConfigurationPath[];
  /** What the provisioning credential needs. */
  readonly provisionerRights?: readonly ProvisionerRight[];
  /** What the credential of a process needs that serves only the admission webhook. */
  readonly admissionRights?: readonly Right[];
  /** The registrations of webhooks that it answers. @param caBundle PEM in base64 */
  registrations?(configuration: C, caBundle: string, place: WebhookPlace): readonly object[];
  /** The namespace of what it stores, which the operator creates. Its section has the feature's name. */
  namespace?(configuration: C): string | undefined;
  /** Finds with Stonegate's own credential what has no effect at the API server. @throws StatusError */
  findIneffective?(configuration: C, fetcher: UpstreamFetcher, signal: AbortSignal): Promise<Problem[]>;
  /** Finds with the provisioning credential what is missing at the API server. @throws StatusError */
  findMissing?(configuration: C, objects: Objects, signal: AbortSignal): Promise<Problem[]>;
  readonly metrics?: readonly MetricDefinition[];
  /** The names of its controllers. */
  readonly controllers?: readonly string[];
  readonly storedKinds?: readonly StoredKind[];
  /** Resources of Stonegate's own API; `build.ts` gives those that the configuration serves. */
  readonly ownResources?: readonly OwnResource[];
  /** The parts that it is built from. */
  reads(configuration: C, loaded: FilesAndSecrets): P;
}

/** Checks the value, and keeps the types of its sections and parts. */
export function defineFeature<const S extends z.ZodRawShape, C, P extends Parts>(
  definition: FeatureDefinition<S, C, P>,
): FeatureDefinition<S, C, P> {
  return definition;
}
