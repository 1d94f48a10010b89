/**
 * The closed set of Stonegate's error codes. A code is stable, has one HTTP status and one Kubernetes
 * reason, and is documented in `docs/reference/errors.md`, which a test checks.
 * https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#StatusReason
 */

interface CodeFacts {
  readonly http: number;
  readonly reason: string;
}

export const CODES = {
  RequestMalformed: { http: 400, reason: 'BadRequest' },
  BodyMalformed: { http: 400, reason: 'BadRequest' },
  CredentialMissing: { http: 401, reason: 'Unauthorized' },
  CredentialInvalid: { http: 401, reason: 'Unauthorized' },
  CredentialAmbiguous: { http: 401, reason: 'Unauthorized' },
  TenantForbidden: { http: 403, reason: 'Forbidden' },
  TenantUnknown: { http: 403, reason: 'Forbidden' },
  PathForbidden: { http: 403, reason: 'Forbidden' },
  ClusterScopeForbidden: { http: 403, reason: 'Forbidden' },
  AccessDenied: { http: 403, reason: 'Forbidden' },
  ImpersonationForbidden: { http: 403, reason: 'Forbidden' },
  IdentityReserved: { http: 403, reason: 'Forbidden' },
  IdentityUnusable: { http: 403, reason: 'Forbidden' },
  OwnerUnusable: { http: 403, reason: 'Forbidden' },
  TokenBlocked: { http: 403, reason: 'Forbidden' },
  GroupsOverflow: { http: 403, reason: 'Forbidden' },
  IdentityTooLarge: { http: 403, reason: 'Forbidden' },
  TooManyNamespaces: { http: 403, reason: 'Forbidden' },
  NotFound: { http: 404, reason: 'NotFound' },
  MethodNotAllowed: { http: 405, reason: 'MethodNotAllowed' },
  NotAcceptable: { http: 406, reason: 'NotAcceptable' },
  HeaderTimeout: { http: 408, reason: 'Timeout' },
  BodyTimeout: { http: 408, reason: 'Timeout' },
  AlreadyExists: { http: 409, reason: 'AlreadyExists' },
  Conflict: { http: 409, reason: 'Conflict' },
  ResourceExpired: { http: 410, reason: 'Expired' },
  BodyTooLarge: { http: 413, reason: 'RequestEntityTooLarge' },
  ListTooLarge: { http: 413, reason: 'RequestEntityTooLarge' },
  MediaTypeUnsupported: { http: 415, reason: 'UnsupportedMediaType' },
  ExpectationFailed: { http: 417, reason: 'ExpectationFailed' },
  ListOptionsInvalid: { http: 422, reason: 'Invalid' },
  ObjectInvalid: { http: 422, reason: 'Invalid' },
  ReviewInvalid: { http: 422, reason: 'Invalid' },
  CredentialRateExceeded: { http: 429, reason: 'TooManyRequests' },
  TenantRateExceeded: { http: 429, reason: 'TooManyRequests' },
  UserRateExceeded: { http: 429, reason: 'TooManyRequests' },
  InvitationRateExceeded: { http: 429, reason: 'TooManyRequests' },
  AdmissionRateExceeded: { http: 429, reason: 'TooManyRequests' },
  StreamLimitExceeded: { http: 429, reason: 'TooManyRequests' },
  HeadersTooLarge: { http: 431, reason: 'RequestHeaderFieldsTooLarge' },
  InternalError: { http: 500, reason: 'InternalError' },
  InvariantBroken: { http: 500, reason: 'InternalError' },
  KeystoneUnavailable: { http: 503, reason: 'ServiceUnavailable' },
  IssuerUnavailable: { http: 503, reason: 'ServiceUnavailable' },
  UpstreamUnavailable: { http: 503, reason: 'ServiceUnavailable' },
  UpstreamRefusedCredential: { http: 503, reason: 'ServiceUnavailable' },
  AccessIndexUnavailable: { http: 503, reason: 'ServiceUnavailable' },
  TokensUnavailable: { http: 503, reason: 'ServiceUnavailable' },
  WebhookRulesUnavailable: { http: 503, reason: 'ServiceUnavailable' },
  ProvisioningForbidden: { http: 503, reason: 'ServiceUnavailable' },
  ProvisioningRefused: { http: 503, reason: 'ServiceUnavailable' },
  UpgradeUnavailable: { http: 503, reason: 'ServiceUnavailable' },
  ShuttingDown: { http: 503, reason: 'ServiceUnavailable' },
  UpstreamTimeout: { http: 504, reason: 'Timeout' },
  ResourceVersionTooLarge: { http: 504, reason: 'Timeout' },
} as const satisfies Readonly<Record<string, CodeFacts>>;

export type ErrorCode = keyof typeof CODES;
