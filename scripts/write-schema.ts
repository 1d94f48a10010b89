/**
 * `npm run schema`: writes the JSON Schema for editors, the table of fields in
 * `docs/reference/configuration.md`, and what the chart takes from the code: the schema and the table of its
 * values, and RBAC rules, which the kustomize overlays have too. Also the dashboards, and the chart's copy of
 * the alerts. A test fails if they are out of date.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { CHART_RBAC, chartRBAC } from './chart-rbac.ts';
import { CHART_DOCUMENT, CHART_SCHEMA, chartSchema, withValuesTable } from './chart-values.ts';
import { DOCUMENT, jsonSchema, SCHEMA, withFieldTable } from './configuration-reference.ts';

import { ALERTS, CHART_ALERTS, dashboardFiles } from './dashboards/all.ts';
import { INDEX_COMPONENT, indexRBAC, OVERLAYS, overlayRBAC } from './overlay-rbac.ts';

writeFileSync(SCHEMA, jsonSchema());
writeFileSync(DOCUMENT, withFieldTable(readFileSync(DOCUMENT, 'utf8')));
writeFileSync(CHART_SCHEMA, chartSchema());
writeFileSync(CHART_DOCUMENT, withValuesTable(readFileSync(CHART_DOCUMENT, 'utf8')));
writeFileSync(CHART_RBAC, await chartRBAC());
writeFileSync(`${INDEX_COMPONENT}/rbac.yaml`, indexRBAC());
for (const overlay of OVERLAYS) writeFileSync(`${overlay}/rbac.yaml`, await overlayRBAC(overlay));
for (const [file, text] of dashboardFiles()) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
copyFileSync(ALERTS, CHART_ALERTS);
