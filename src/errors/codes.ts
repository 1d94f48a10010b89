/**
 * The closed set of Stonegate's error codes. A code is stable, has one HTTP status and one Kubernetes
 * reason, and is documented in `docs/reference/errors.md`, which a test checks.
 * https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#StatusReason
 */

const UNAUTHORIZED = { http: 401, reason: 'Unauthorized' };
const FORBIDDEN = { http: 403, reason: 'Forbidden' };
const INVALID = { http: 422, reason: 'Invalid' };
const TOO_MANY_REQUESTS = { http: 429, reason: 'TooManyRequests' };
const UNAVAILABLE = { http: 503, reason: 'ServiceUnavailable' };

export const CODES = {
  RequestMalformed: { http: 400, reason: 'BadRequest' },
  BodyMalformed: { http: 400, reason: 'BadRequest' },
  CredentialMissing: UNAUTHORIZED,
  CredentialInvalid: UNAUTHORIZED,
  CredentialAmbiguous: UNAUTHORIZED,
  TenantForbidden: FORBIDDEN,
  TenantUnknown: FORBIDDEN,
  PathForbidden: FORBIDDEN,
  ClusterScopeForbidden: FORBIDDEN,
  AccessDenied: FORBIDDEN,
  ImpersonationForbidden: FORBIDDEN,
  IdentityReserved: FORBIDDEN,
  IdentityUnusable: FORBIDDEN,
  OwnerUnusable: FORBIDDEN,
  TokenBlocked: FORBIDDEN,
  GroupsOverflow: FORBIDDEN,
  IdentityTooLarge: FORBIDDEN,
  TooManyNamespaces: FORBIDDEN,
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
  ListOptionsInvalid: INVALID,
  ObjectInvalid: INVALID,
  ReviewInvalid: INVALID,
  CredentialRateExceeded: TOO_MANY_REQUESTS,
  TenantRateExceeded: TOO_MANY_REQUESTS,
  UserRateExceeded: TOO_MANY_REQUESTS,
  InvitationRateExceeded: TOO_MANY_REQUESTS,
  AdmissionRateExceeded: TOO_MANY_REQUESTS,
  StreamLimitExceeded: TOO_MANY_REQUESTS,
  HeadersTooLarge: { http: 431, reason: 'RequestHeaderFieldsTooLarge' },
  InternalError: { http: 500, reason: 'InternalError' },
  InvariantBroken: { http: 500, reason: 'InternalError' },
  KeystoneUnavailable: UNAVAILABLE,
  IssuerUnavailable: UNAVAILABLE,
  UpstreamUnavailable: UNAVAILABLE,
  UpstreamRefusedCredential: UNAVAILABLE,
  AccessIndexUnavailable: UNAVAILABLE,
  TokensUnavailable: UNAVAILABLE,
  WebhookRulesUnavailable: UNAVAILABLE,
  ProvisioningForbidden: UNAVAILABLE,
  ProvisioningRefused: UNAVAILABLE,
  UpgradeUnavailable: UNAVAILABLE,
  ShuttingDown: UNAVAILABLE,
  UpstreamTimeout: { http: 504, reason: 'Timeout' },
  ResourceVersionTooLarge: { http: 504, reason: 'Timeout' },
};

export type ErrorCode = keyof typeof CODES;
