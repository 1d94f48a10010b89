{{- /*
Objects come from files/objects.json, which `npm run schema` writes from `stonegate manifests crds`, `roles` and
`admission`. Placeholders are replaced by what the configuration and the release say.
*/ -}}
{{- define "stonegate.objects" -}}
{{- .Files.Get "files/objects.json" | replace "placeholder-namespace" .Release.Namespace -}}
{{- end -}}

{{- /* Whether the chart installs the admission webhook, a process of its own in this cluster. */ -}}
{{- define "stonegate.admission" -}}
{{- $given := .Values.configuration -}}
{{- if hasKey $given "admission" -}}
{{- if or (not (include "stonegate.given" . | fromJson).runsInCluster) (not .Values.rbac.create) -}}
  {{- fail "configuration.admission: in front of another API server (arktos mode, or rbac.create false) the webhook runs outside this cluster: see docs/admission.md and `stonegate manifests admission`" -}}
{{- end -}}
{{- if not (or .Values.admission.caBundle .Values.admission.annotations) -}}
  {{- fail "admission.caBundle: is required, the CA of the webhook's certificate in PEM, unless cert-manager fills it in: admission.annotations with cert-manager.io/inject-ca-from" -}}
{{- end -}}
yes
{{- end -}}
{{- end -}}

{{- /* Whether Stonegate stores custom resources in this cluster. */ -}}
{{- define "stonegate.stores" -}}
{{- if and .Values.rbac.create (include "stonegate.given" . | fromJson).runsInCluster (include "stonegate.needsObjects" .) -}}yes{{- end -}}
{{- end -}}

{{- /* The sections with which the webhook needs rights: a key of `admission` in files/objects.json. */ -}}
{{- define "stonegate.admissionSections" -}}
{{- $sections := list -}}
{{- range list "publishing" "quota" -}}{{- if get $.Values.configuration . -}}{{- $sections = append $sections . -}}{{- end -}}{{- end -}}
{{- join " " $sections -}}
{{- end -}}

{{- /* The configuration of the webhook's process. Service accounts of its own namespace belong to no tenant. */ -}}
{{- define "stonegate.admissionConfiguration" -}}
{{- $given := deepCopy .Values.configuration -}}
{{- $run := "/run/stonegate" -}}
{{- $own := dict
  "apiVersion" "stonegate.dev/v1alpha1"
  "kind" "StonegateConfiguration"
  "admin" (dict "bind" "0.0.0.0:9090")
  "admission" (dict
    "tls" (include "stonegate.tlsFiles" (printf "%s/admission-tls" $run) | fromYaml)
    "systemNamespaces" (append (dig "admission" "systemNamespaces" list $given) .Release.Namespace | uniq)) -}}
{{- $admission := omit (default dict $given.admission) "systemNamespaces" -}}
{{- if include "stonegate.admissionSections" . -}}
  {{- $_ := set $own "upstream" (dict
    "server" "https://kubernetes.default.svc"
    "caFile" (printf "%s/upstream/ca.crt" $run)
    "credential" (dict "tokenFile" (printf "%s/upstream/token" $run))) -}}
{{- end -}}
{{- mergeOverwrite $own (pick $given "tenancy" "admin" "log" "publishing" "quota") (dict "admission" $admission) | toYaml -}}
{{- end -}}

{{- /* The rules of a webhook, with those of the kinds that the configuration names. */ -}}
{{- define "stonegate.webhookRules" -}}
{{- $given := .root.Values.configuration -}}
{{- $kinds := dict
  "systemkinds" (dig "admission" "systemKinds" list $given)
  "publishing" (dig "publishing" "kinds" list $given)
  "quota" (dig "quota" "count" list $given) -}}
{{- $rules := list -}}
{{- range .rules -}}
  {{- $rule := . -}}
  {{- if ne (first .apiGroups) "placeholder" -}}
    {{- $rules = append $rules . -}}
  {{- else -}}
    {{- range $kind := get $kinds (first .resources) -}}
      {{- $parts := splitList "." $kind -}}
      {{- $resource := first $parts -}}
      {{- $group := rest $parts | join "." -}}
      {{- if contains "/" $kind -}}
        {{- $parts = splitList "/" $kind -}}
        {{- $resource = last $parts -}}
        {{- $group = ternary (first $parts) "" (eq (len $parts) 3) -}}
      {{- end -}}
      {{- $resources := list $resource -}}
      {{- if gt (len $rule.resources) 1 -}}
        {{- $resources = append $resources (printf "%s/status" $resource) -}}
      {{- end -}}
      {{- $rules = append $rules (merge (dict "apiGroups" (list $group) "resources" $resources) $rule) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- toJson $rules -}}
{{- end -}}
