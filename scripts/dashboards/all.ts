/** All dashboards as files: for Grafana in `config/dashboards`, and the same for the chart's ConfigMap. */
import { type Dashboard, dashboardJSON } from './dashboard.ts';
import { IDENTITY } from './identity.ts';
import { PROCESS } from './process.ts';
import { PROVISIONING } from './provisioning.ts';
import { RBAC_INDEX } from './rbac-index.ts';
import { SHARING } from './sharing.ts';
import { TENANTS } from './tenants.ts';
import { TRAFFIC } from './traffic.ts';

const DASHBOARDS: readonly Dashboard[] = [
  TRAFFIC,
  IDENTITY,
  TENANTS,
  PROVISIONING,
  SHARING,
  RBAC_INDEX,
  PROCESS,
];

/** Written by hand. */
export const ALERTS = 'config/alerts/stonegate.yaml';
/** A copy: the chart can read only its own files. */
export const CHART_ALERTS = 'config/charts/stonegate/files/alerts.yaml';

const FOLDERS = ['config/dashboards', 'config/charts/stonegate/files/dashboards'];

/** File → text. */
export function dashboardFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const dashboard of DASHBOARDS)
    for (const folder of FOLDERS)
      files.set(`${folder}/stonegate-${dashboard.name}.json`, dashboardJSON(dashboard));
  return files;
}
