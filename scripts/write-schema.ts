/**
 * `npm run schema`: writes the JSON Schema for editors and the table of fields in `docs/configuration.md`. A
 * test fails if they are out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { DOCUMENT, jsonSchema, SCHEMA, withFieldTable } from './configuration-reference.ts';

writeFileSync(SCHEMA, jsonSchema());
writeFileSync(DOCUMENT, withFieldTable(readFileSync(DOCUMENT, 'utf8')));
