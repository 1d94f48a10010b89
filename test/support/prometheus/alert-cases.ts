/**
 * For each alert, series with which it fires, and similar series with which it does not. Values are in
 * promtool’s notation: `0+2x60` begins at 0 and grows by 2 for 60 minutes, `_` is no sample.
 * https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/#series
 */

type Series = Readonly<Record<string, string>>;

export interface AlertCase {
  readonly alert: string;
  /** Minutes after which the alert fires, or does not. */
  readonly after: number;
  readonly fires: Series;
  readonly silent: Series;
}

const refusals = (code: string) => `stonegate_refusals_total{code="${code}"}`;
/** A counter that grows for the whole time. */
const GROWING = '0+1x60';
/** One event. */
const ONCE = '0x5 1x55';

const requests = (good: number, bad: number): Series => ({
  'stonegate_requests_total{status="200"}': `0+${good}x420`,
  'stonegate_requests_total{status="503"}': `0+${bad}x420`,
});

const calls = (good: number, bad: number): Series => ({
  'stonegate_backend_duration_seconds_count{backend="upstream",result="ok"}': `0+${good}x60`,
  'stonegate_backend_duration_seconds_count{backend="upstream",result="timeout"}': `0+${bad}x60`,
});

const durations = (within5: number): Series => {
  const bucket = (le: string) =>
    `stonegate_backend_duration_seconds_bucket{backend="upstream",result="ok",le="${le}"}`;
  return { [bucket('5')]: `0+${within5}x60`, [bucket('10')]: '0+100x60', [bucket('+Inf')]: '0+100x60' };
};

const redis = (good: number, bad: number): Series => ({
  'stonegate_cache_lookups_total{tier="redis",result="hit"}': `0+${good}x60`,
  'stonegate_cache_lookups_total{tier="redis",result="error"}': `0+${bad}x60`,
});

const runs = (good: string, bad: string): Series => ({
  'stonegate_controller_runs_total{controller="bindings",result="ok"}': good,
  'stonegate_controller_runs_total{controller="bindings",result="held-back"}': '0x60',
  'stonegate_controller_runs_total{controller="bindings",result="error"}': bad,
});

/** Runs of the controller of policies or of publishing. */
const controllerRuns = (controller: 'policies' | 'publishing', good: string, bad: string): Series => ({
  [`stonegate_controller_runs_total{controller="${controller}",result="ok"}`]: good,
  [`stonegate_controller_runs_total{controller="${controller}",result="incomplete"}`]: bad,
});

/** A certificate that expires this many hours after minute 20; promtool's time begins at 0. */
const certificate = (hours: number): Series => ({
  'stonegate_certificate_not_after_timestamp_seconds{field="server.tls.certFile"}': `${20 * 60 + hours * 3600}x60`,
});

const reviews = (webhook: string, admission: string): Series => ({
  'stonegate_webhook_reviews_total{kind="TokenReview",result="error"}': webhook,
  'stonegate_admission_reviews_total{result="limited"}': admission,
});

const index = (synced: string, objects: string): Series => ({
  stonegate_rbac_index_synced: synced,
  'stonegate_rbac_index_objects{resource="roles"}': objects,
});

const DIFFERED = 'stonegate_access_verifications_total{result="differed"}';
const AGREED = 'stonegate_access_verifications_total{result="agreed"}';
const LAST_SUCCESS = 'stonegate_controller_last_success_timestamp_seconds{controller="bindings"}';
const UNVERIFIED = 'stonegate_streams_ended_total{kind="watch",reason="unverified"}';

export const ALERT_CASES: readonly AlertCase[] = [
  { alert: 'StonegateErrorBudgetBurnsFast', after: 70, fires: requests(98, 2), silent: requests(99, 1) },
  { alert: 'StonegateErrorBudgetBurns', after: 400, fires: requests(99, 1), silent: requests(199, 1) },
  {
    alert: 'StonegateAbsent',
    after: 15,
    fires: { stonegate_connections_open: '3x2 _x20' },
    silent: { stonegate_connections_open: '0x20' },
  },
  { alert: 'StonegateApiServerUnavailable', after: 20, fires: calls(90, 10), silent: calls(96, 4) },
  { alert: 'StonegateApiServerSlow', after: 30, fires: durations(90), silent: durations(100) },
  {
    alert: 'StonegateCredentialRefused',
    after: 10,
    fires: { [refusals('UpstreamRefusedCredential')]: GROWING },
    silent: { [refusals('UpstreamRefusedCredential')]: ONCE },
  },
  {
    alert: 'StonegateKeystoneUnavailable',
    after: 12,
    fires: { [refusals('KeystoneUnavailable')]: GROWING },
    silent: { [refusals('KeystoneUnavailable')]: ONCE },
  },
  {
    alert: 'StonegateIssuerUnavailable',
    after: 12,
    fires: { [refusals('IssuerUnavailable')]: GROWING },
    silent: { [refusals('IssuerUnavailable')]: ONCE },
  },
  { alert: 'StonegateRedisUnavailable', after: 20, fires: redis(80, 20), silent: redis(95, 5) },
  {
    alert: 'StonegateStreamsUnverified',
    after: 8,
    fires: { [UNVERIFIED]: ONCE },
    silent: { [UNVERIFIED]: '5x60' },
  },
  {
    alert: 'StonegateWebhookFailing',
    after: 20,
    fires: reviews('0x60', GROWING),
    silent: reviews(ONCE, '0x60'),
  },
  {
    alert: 'StonegateInvariantBroken',
    after: 8,
    fires: { [refusals('InvariantBroken')]: ONCE },
    silent: { [refusals('InvariantBroken')]: '0x60' },
  },
  {
    alert: 'StonegateInternalErrors',
    after: 8,
    fires: { [refusals('InternalError')]: ONCE },
    silent: { [refusals('InternalError')]: '0x60' },
  },
  {
    alert: 'StonegateAuditLogFailing',
    after: 10,
    fires: { stonegate_audit_log_failing: '1x20' },
    silent: { stonegate_audit_log_failing: '1x5 0x20' },
  },
  {
    alert: 'StonegateAuditEventsLost',
    after: 8,
    fires: { stonegate_audit_events_lost_total: ONCE },
    silent: { stonegate_audit_events_lost_total: '7x60' },
  },
  {
    alert: 'StonegateCertificateExpires',
    after: 20,
    fires: certificate(13 * 24),
    silent: certificate(15 * 24),
  },
  {
    alert: 'StonegateCertificateExpiresSoon',
    after: 20,
    fires: certificate(-1),
    silent: certificate(3 * 24),
  },
  {
    alert: 'StonegateReloadFailed',
    after: 10,
    fires: { stonegate_last_reload_successful: '1x5 0x20' },
    silent: { stonegate_last_reload_successful: '0x5 1x20' },
  },
  {
    alert: 'StonegateEventLoopBlocked',
    after: 30,
    fires: { nodejs_eventloop_lag_seconds: '0.3x60' },
    silent: { nodejs_eventloop_lag_seconds: '0.01x15 0.5x0 0.01x40' },
  },
  {
    alert: 'StonegateFileDescriptors',
    after: 15,
    fires: { process_open_fds: '900x60', process_max_fds: '1024x60' },
    silent: { process_open_fds: '700x60', process_max_fds: '1024x60' },
  },
  {
    alert: 'StonegateTenantLimited',
    after: 25,
    fires: { [refusals('TenantRateExceeded')]: GROWING, [refusals('StreamLimitExceeded')]: '0x60' },
    silent: { [refusals('TenantRateExceeded')]: '0x12 50x48', [refusals('StreamLimitExceeded')]: '0x60' },
  },
  {
    alert: 'StonegateUnknownCredentials',
    after: 15,
    fires: { 'stonegate_unknown_credentials_limited_total{reason="total"}': GROWING },
    silent: { 'stonegate_unknown_credentials_limited_total{reason="source"}': GROWING },
  },
  {
    alert: 'StonegateProvisioningFailing',
    after: 50,
    fires: runs('3x60', GROWING),
    silent: runs('0x45 1x15', GROWING),
  },
  {
    alert: 'StonegateProvisioningStale',
    after: 80,
    fires: { [LAST_SUCCESS]: '60x100' },
    // Before the first success, and without provisioning, there is no sample.
    silent: { [LAST_SUCCESS]: '_x70 4200x30' },
  },
  {
    alert: 'StonegateProvisioningHeldBack',
    after: 20,
    fires: { 'stonegate_controller_held_back{controller="bindings"}': '4x60' },
    silent: { 'stonegate_controller_held_back{controller="bindings"}': '0x12 4x5 0x40' },
  },
  {
    alert: 'StonegatePoliciesStale',
    after: 8,
    fires: { 'stonegate_informer_age_seconds{informer="policies",resource="tenants"}': '0+60x60' },
    silent: { 'stonegate_informer_age_seconds{informer="policies",resource="tenants"}': '170x60' },
  },
  {
    alert: 'StonegatePoliciesFailing',
    after: 50,
    fires: controllerRuns('policies', '3x60', GROWING),
    silent: controllerRuns('policies', '0x45 1x15', GROWING),
  },
  {
    alert: 'StonegatePublishingFailing',
    after: 50,
    fires: controllerRuns('publishing', '3x60', GROWING),
    silent: controllerRuns('publishing', '0x45 1x15', GROWING),
  },
  {
    alert: 'StonegateTenantQuotaNearlyUsed',
    after: 20,
    fires: { 'stonegate_tenant_quota_used_ratio{tenant="acme",resource="pods"}': '0.91x60' },
    silent: { 'stonegate_tenant_quota_used_ratio{tenant="acme",resource="pods"}': '0.9x60' },
  },
  {
    alert: 'StonegateInformerRefused',
    after: 15,
    fires: {
      'stonegate_informer_failures_total{informer="rbac-index",resource="roles",failure="refused"}': GROWING,
    },
    silent: {
      'stonegate_informer_failures_total{informer="policies",resource="tenants",failure="unreachable"}':
        GROWING,
    },
  },
  {
    alert: 'StonegateIndexStale',
    after: 10,
    fires: { 'stonegate_informer_age_seconds{informer="rbac-index",resource="roles"}': '0+60x60' },
    silent: { 'stonegate_informer_age_seconds{informer="rbac-index",resource="roles"}': '290x60' },
  },
  {
    alert: 'StonegateIndexIncomplete',
    after: 10,
    fires: index('0x60', '5x60'),
    // Here `access.index` is off.
    silent: { stonegate_rbac_index_synced: '0x60' },
  },
  {
    alert: 'StonegateIndexDisagrees',
    after: 8,
    fires: { [DIFFERED]: ONCE, [AGREED]: GROWING },
    silent: { [DIFFERED]: '0x60', [AGREED]: GROWING },
  },
  {
    alert: 'StonegateIndexOff',
    after: 10,
    fires: { stonegate_rbac_index_off: '1x60' },
    silent: { stonegate_rbac_index_off: '0x60' },
  },
  {
    alert: 'StonegateIndexTooLarge',
    after: 50,
    fires: { stonegate_rbac_index_too_large: '1x60' },
    silent: { stonegate_rbac_index_too_large: '0x60' },
  },
];
