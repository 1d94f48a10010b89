/**
 * Writes what is generated from the configuration's schema: the JSON Schema for editors, and the table of
 * fields in `docs/configuration.md`. A test fails when they are stale.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { DOCUMENT, jsonSchema, SCHEMA, withFieldTable } from './configuration-reference.ts';

writeFileSync(SCHEMA, jsonSchema());
writeFileSync(DOCUMENT, withFieldTable(readFileSync(DOCUMENT, 'utf8')));
