/**
 * Zod schemas as structural schemas, as CustomResourceDefinitions and OpenAPI v3 documents of Kubernetes have
 * them. Arktos accepts no `default`.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
import { z } from 'zod';

/** A strict object yields no `additionalProperties`: an API server prunes unknown fields by itself. */
export function toKubernetesSchema(schema: z.ZodType): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io: 'input',
    override({ jsonSchema }) {
      delete jsonSchema.default;
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      if (jsonSchema.type !== 'integer') return;
      delete jsonSchema.minimum;
      delete jsonSchema.maximum;
      jsonSchema.format = 'int64';
    },
  });
}

export const text = (description: string) => z.string().describe(description);
export const texts = (description: string) => z.array(z.string()).describe(description);
export const flag = (description: string) => z.boolean().describe(description);
