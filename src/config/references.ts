/**
 * All files and secrets that a configuration names, in one list. They are read, checked and watched from
 * this list.
 */
import type {
  AdmissionConfiguration,
  AdmissionProcessConfiguration,
  CredentialFiles,
  KeystoneConfiguration,
  PortalConfiguration,
  SecretSource,
  StonegateConfiguration,
  UpstreamConfiguration,
  WebhookConfiguration,
  WebhookSource,
} from '../api/config-v1alpha1.ts';
import type { Path } from './problem.ts';

/** The kind of content that is expected. */
export type ContentKind =
  | 'authentication-configuration'
  | 'static-users'
  | 'webhook-rules'
  | 'abac-policies'
  | 'certificate'
  | 'key'
  | 'ca'
  | 'client-ca'
  | 'token'
  | 'secret'
  | 'sealing-key'
  | 'redis-url';

export interface Reference {
  readonly path: Path;
  readonly source: SecretSource;
  readonly kind: ContentKind;
}

/** A certificate and its key, which must belong together. `path` is reported if they do not. */
export interface Pair {
  readonly path: Path;
  readonly certFile: string;
  readonly keyFile: string;
}

export function referencesOf(configuration: StonegateConfiguration): Reference[] {
  const { server, upstream, authentication, authorization, bindings, cache, portal, webhook, admission } =
    configuration;
  return [
    ...files(['server', 'tls'], {
      certFile: [server.tls.certFile, 'certificate'],
      keyFile: [server.tls.keyFile, 'key'],
      clientCAFile: [server.tls.clientCAFile, 'ca'],
    }),
    ...upstreamReferences(upstream),
    ...(bindings.credential === undefined
      ? []
      : files(['bindings', 'credential'], credentialFiles(bindings.credential))),
    ...keystoneReferences(authentication.keystone),
    ...files(['authentication', 'tokenFile'], { file: [authentication.tokenFile?.file, 'static-users'] }),
    ...files(['authentication', 'basicAuthFile'], {
      file: [authentication.basicAuthFile?.file, 'static-users'],
    }),
    ...files(['authentication', 'clientCertificates'], {
      caFile: [authentication.clientCertificates?.caFile, 'client-ca'],
    }),
    ...files(['authentication'], {
      configurationFile: [authentication.configurationFile, 'authentication-configuration'],
    }),
    ...authentication.jwt.flatMap(({ issuer }, index) =>
      files(['authentication', 'jwt', index, 'issuer'], { caFile: [issuer.caFile, 'ca'] }),
    ),
    ...files(['authorization'], { abacPolicyFile: [authorization.abacPolicyFile, 'abac-policies'] }),
    ...files(['cache', 'redis'], { caFile: [cache.redis?.caFile, 'ca'] }),
    ...(cache.redis === undefined ? [] : [secret(['cache', 'redis', 'url'], cache.redis.url, 'redis-url')]),
    ...cache.sealingKeys.map((source, index) =>
      secret(['cache', 'sealingKeys', index], source, 'sealing-key'),
    ),
    ...(portal === undefined ? [] : portalReferences(portal)),
    ...(webhook === undefined ? [] : webhookReferences(webhook)),
    ...(admission === undefined ? [] : admissionReferences(admission)),
  ];
}

export function pairsOf({
  server,
  upstream,
  bindings,
  portal,
  webhook,
  admission,
}: StonegateConfiguration): Pair[] {
  const provisioner = bindings.credential;
  return [
    { path: ['server', 'tls', 'keyFile'], certFile: server.tls.certFile, keyFile: server.tls.keyFile },
    ...upstreamPairs(upstream),
    ...(provisioner !== undefined && 'certFile' in provisioner
      ? [{ path: ['bindings', 'credential', 'keyFile'], ...provisioner }]
      : []),
    ...(portal === undefined ? [] : [{ path: ['portal', 'tls', 'keyFile'], ...portal.tls }]),
    ...(webhook === undefined ? [] : [{ path: ['webhook', 'tls', 'keyFile'], ...webhook.tls }]),
    ...(admission === undefined ? [] : [admissionPair(admission)]),
  ];
}

function upstreamPairs({ credential }: UpstreamConfiguration): Pair[] {
  return 'certFile' in credential ? [{ path: ['upstream', 'credential', 'keyFile'], ...credential }] : [];
}

function upstreamReferences({ caFile, credential }: UpstreamConfiguration): Reference[] {
  return [
    ...files(['upstream'], { caFile: [caFile, 'ca'] }),
    ...files(['upstream', 'credential'], credentialFiles(credential)),
  ];
}

function admissionPair({ tls }: AdmissionConfiguration): Pair {
  return { path: ['admission', 'tls', 'keyFile'], certFile: tls.certFile, keyFile: tls.keyFile };
}

/** Of a process that serves only the admission webhook. */
export function admissionProcessPairs({ admission, upstream }: AdmissionProcessConfiguration): Pair[] {
  return [admissionPair(admission), ...(upstream === undefined ? [] : upstreamPairs(upstream))];
}

/** Of a process that serves only the admission webhook. */
export function admissionProcessReferences({
  admission,
  upstream,
}: AdmissionProcessConfiguration): Reference[] {
  return [...admissionReferences(admission), ...(upstream === undefined ? [] : upstreamReferences(upstream))];
}

function admissionReferences({ tls }: AdmissionConfiguration): Reference[] {
  return files(['admission', 'tls'], {
    certFile: [tls.certFile, 'certificate'],
    keyFile: [tls.keyFile, 'key'],
    clientCAFile: [tls.clientCAFile, 'ca'],
  });
}

function credentialFiles(credential: CredentialFiles): Files {
  return 'tokenFile' in credential
    ? { tokenFile: [credential.tokenFile, 'token'] }
    : { certFile: [credential.certFile, 'certificate'], keyFile: [credential.keyFile, 'key'] };
}

function keystoneReferences(keystone: KeystoneConfiguration | undefined): Reference[] {
  const path = ['authentication', 'keystone'];
  const references = files(path, { caFile: [keystone?.caFile, 'ca'] });
  const credential = keystone?.serviceCredential;
  if (credential === undefined) return references;
  const within = [...path, 'serviceCredential'];
  return [
    ...references,
    'password' in credential
      ? secret([...within, 'password', 'password'], credential.password.password, 'secret')
      : secret(
          [...within, 'applicationCredential', 'secret'],
          credential.applicationCredential.secret,
          'secret',
        ),
  ];
}

function portalReferences({ tls, kubernetes, oidc }: PortalConfiguration): Reference[] {
  return [
    ...files(['portal', 'tls'], {
      certFile: [tls.certFile, 'certificate'],
      keyFile: [tls.keyFile, 'key'],
    }),
    ...files(['portal', 'kubernetes'], { caFile: [kubernetes.caFile, 'ca'] }),
    ...oidc.flatMap(({ clientSecret }, index) =>
      clientSecret === undefined
        ? []
        : [secret(['portal', 'oidc', index, 'clientSecret'], clientSecret, 'secret')],
    ),
  ];
}

function webhookReferences({ tls, policy, sync }: WebhookConfiguration): Reference[] {
  return [
    ...files(['webhook', 'tls'], {
      certFile: [tls.certFile, 'certificate'],
      keyFile: [tls.keyFile, 'key'],
      clientCAFile: [tls.clientCAFile, 'ca'],
    }),
    ...files(['webhook', 'policy'], { file: [fileOf(policy), 'webhook-rules'] }),
    ...files(['webhook', 'sync'], { file: [fileOf(sync), 'webhook-rules'] }),
  ];
}

function fileOf(source: WebhookSource | undefined): string | undefined {
  return source !== undefined && 'file' in source ? source.file : undefined;
}

type Files = Readonly<Record<string, readonly [name: string | undefined, kind: ContentKind]>>;

function files(path: Path, named: Files): Reference[] {
  return Object.entries(named).flatMap(([key, [name, kind]]) =>
    name === undefined ? [] : [{ path: [...path, key], source: { fromFile: name }, kind }],
  );
}

function secret(path: Path, source: SecretSource, kind: ContentKind): Reference {
  const key = 'fromFile' in source ? 'fromFile' : 'fromEnv';
  return { path: [...path, key], source, kind };
}
