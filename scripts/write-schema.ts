/**
 * `npm run schema`: writes the JSON Schema for editors, the tables of fields in
 * `docs/reference/configuration.md` and `api.md`, and what the chart takes from the code: the schema and the
 * table of its values, objects, and RBAC rules, which the kustomize overlays have too. Also the chart's
 * copies of the alerts and the dashboards. A test fails if they are out of date.
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { API_DOCUMENT, withAPITables } from './api-reference.ts';
import { CHART_OBJECTS, chartObjects } from './chart-objects.ts';
import { CHART_RBAC, chartRBAC } from './chart-rbac.ts';
import { CHART_COPIES, CHART_DOCUMENT, CHART_SCHEMA, chartSchema, withValuesTable } from './chart-values.ts';
import { DOCUMENT, jsonSchema, SCHEMA, withFieldTable } from './configuration-reference.ts';

import { INDEX_COMPONENT, indexRBAC, OVERLAYS, overlayRBAC } from './overlay-rbac.ts';

writeFileSync(SCHEMA, jsonSchema());
writeFileSync(DOCUMENT, withFieldTable(readFileSync(DOCUMENT, 'utf8')));
writeFileSync(API_DOCUMENT, withAPITables(readFileSync(API_DOCUMENT, 'utf8')));
writeFileSync(CHART_SCHEMA, chartSchema());
writeFileSync(CHART_DOCUMENT, withValuesTable(readFileSync(CHART_DOCUMENT, 'utf8')));
writeFileSync(CHART_RBAC, chartRBAC());
writeFileSync(CHART_OBJECTS, await chartObjects());
writeFileSync(`${INDEX_COMPONENT}/rbac.yaml`, indexRBAC());
for (const overlay of OVERLAYS) writeFileSync(`${overlay}/rbac.yaml`, await overlayRBAC(overlay));
for (const [source, copy] of CHART_COPIES) cpSync(source, copy, { recursive: true });
