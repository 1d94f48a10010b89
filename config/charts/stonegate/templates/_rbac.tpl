{{- /*
Rules come from files/rbac.json, which `npm run schema` writes from the rights that features list: each with the
conditions under which it is needed. src/kubernetes/right.ts says what conditions and paths are.
*/ -}}

{{- /* As JSON, what conditions are evaluated on: the configuration with defaults, and the facts of its tenancy mode. */ -}}
{{- define "stonegate.given" -}}
{{- $rbac := .Files.Get "files/rbac.json" | fromJson -}}
{{- $given := deepCopy .Values.configuration -}}
{{- range $path, $value := $rbac.defaults -}}
  {{- $names := splitList "." $path -}}
  {{- $section := default dict (get $given (first $names)) -}}
  {{- if not (hasKey $section (last $names)) -}}{{- $_ := set $section (last $names) $value -}}{{- end -}}
  {{- $_ := set $given (first $names) $section -}}
{{- end -}}
{{- range $name, $value := default dict (get $rbac.facts (dig "tenancy" "mode" "" $given)) -}}
  {{- $_ := set $given $name $value -}}
{{- end -}}
{{- $_ := set $given "constrained" .Values.rbac.constrained -}}
{{- toJson $given -}}
{{- end -}}

{{- /* "true" if all conditions hold. Call with their list and what is given. */ -}}
{{- define "stonegate.holds" -}}
{{- $given := index . 1 -}}
{{- $holds := true -}}
{{- range (index . 0) -}}
  {{- $value := $given -}}
  {{- range (trimPrefix "!" . | splitList ".") -}}
    {{- if kindIs "map" $value -}}{{- $value = get $value . -}}{{- else -}}{{- $value = "" -}}{{- end -}}
  {{- end -}}
  {{- $isSet := or (kindIs "map" $value) (not (empty $value)) -}}
  {{- if eq $isSet (hasPrefix "!" .) -}}{{- $holds = false -}}{{- end -}}
{{- end -}}
{{- if $holds -}}true{{- end -}}
{{- end -}}

{{- /* As JSON, the values at paths in which `*` is every entry. Call with the paths and what is given. */ -}}
{{- define "stonegate.valuesAt" -}}
{{- $given := index . 1 -}}
{{- $all := list -}}
{{- range (index . 0) -}}
  {{- $found := list $given -}}
  {{- range $name := splitList "." . -}}
    {{- $next := list -}}
    {{- range $found -}}
      {{- if and (eq $name "*") (kindIs "slice" .) -}}{{- $next = concat $next . -}}
      {{- else if not (kindIs "map" .) -}}
      {{- else if eq $name "*" -}}{{- range $field, $value := . -}}{{- $next = append $next $value -}}{{- end -}}
      {{- else if hasKey . $name -}}{{- $next = append $next (get . $name) -}}
      {{- end -}}
    {{- end -}}
    {{- $found = $next -}}
  {{- end -}}
  {{- $all = concat $all $found -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{- /* As JSON, a kind that the configuration has as GROUP/VERSION/RESOURCE. Call with it and files/rbac.json. */ -}}
{{- define "stonegate.kind" -}}
{{- $parts := splitList "/" (index . 0) -}}
{{- $group := ternary (first $parts) "" (eq (len $parts) 3) -}}
{{- if eq (len $parts) 1 -}}{{- $group = get (index . 1).shortKinds (index . 0) -}}{{- end -}}
{{- dict "group" $group "resource" (last $parts) | toJson -}}
{{- end -}}

{{- /* As JSON, the rules of a right. Call with the right, what is given, and files/rbac.json. */ -}}
{{- define "stonegate.rulesOf" -}}
{{- $right := index . 0 -}}
{{- $given := index . 1 -}}
{{- $rbac := index . 2 -}}
{{- $rules := list -}}
{{- if $right.grants -}}
  {{- $rules = concat $rbac.grantable (include "stonegate.grantableRules" (list $given $rbac) | fromJsonArray) -}}
{{- else if $right.verbs -}}
  {{- $kinds := $right.kinds -}}
  {{- range (include "stonegate.valuesAt" (list $right.kindsAt $given) | fromJsonArray) -}}
    {{- $kinds = append $kinds (include "stonegate.kind" (list . $rbac) | fromJson) -}}
  {{- end -}}
  {{- $groups := list -}}
  {{- $resources := dict -}}
  {{- range $kinds -}}
    {{- $groups = append $groups .group -}}
    {{- $_ := set $resources .group (append (default list (get $resources .group)) .resource) -}}
  {{- end -}}
  {{- range (uniq $groups) -}}
    {{- $names := get $resources . | uniq | sortAlpha -}}
    {{- $rules = append $rules (dict "apiGroups" (list .) "resources" $names "verbs" $right.verbs) -}}
  {{- end -}}
{{- else if $right.namesAt -}}
  {{- $names := $right.rule.resourceNames -}}
  {{- range (include "stonegate.valuesAt" (list $right.namesAt $given) | fromJsonArray) -}}
    {{- if kindIs "string" . -}}{{- $names = append $names . -}}{{- end -}}
  {{- end -}}
  {{- range $right.except -}}{{- $names = without $names . -}}{{- end -}}
  {{- if $names -}}
    {{- $rules = append $rules (merge (dict "resourceNames" ($names | uniq | sortAlpha)) $right.rule) -}}
  {{- end -}}
{{- else -}}
  {{- $rules = append $rules $right.rule -}}
{{- end -}}
{{- toJson $rules -}}
{{- end -}}

{{- /* What may be granted besides the rules of stonegate:manage. Call with what is given and files/rbac.json. */ -}}
{{- define "stonegate.grantableRules" -}}
{{- $never := (index . 1).notGrantable -}}
{{- $rules := list -}}
{{- range (dig "access" "grantable" list (index . 0)) -}}
  {{- $rule := . -}}
  {{- $verbs := list -}}
  {{- range .verbs -}}{{- if not (has . $never.verbs) -}}{{- $verbs = append $verbs . -}}{{- end -}}{{- end -}}
  {{- range .apiGroups -}}
    {{- if and $verbs (not (has . $never.groups)) -}}
      {{- $rules = append $rules (merge (dict "apiGroups" (list .) "verbs" $verbs) (pick $rule "resources" "resourceNames")) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- toJson $rules -}}
{{- end -}}

{{- /* As JSON, the rules of the rights that are needed. Call with the rights, what is given, and files/rbac.json. */ -}}
{{- define "stonegate.neededRules" -}}
{{- $given := index . 1 -}}
{{- $rbac := index . 2 -}}
{{- $rules := list -}}
{{- range (index . 0) -}}
  {{- if include "stonegate.holds" (list .when $given) -}}
    {{- $rules = concat $rules (include "stonegate.rulesOf" (list . $given $rbac) | fromJsonArray) -}}
  {{- end -}}
{{- end -}}
{{- include "stonegate.withoutCovered" $rules -}}
{{- end -}}

{{- /* As JSON, the rules that no other rule includes. */ -}}
{{- define "stonegate.withoutCovered" -}}
{{- $all := . -}}
{{- $rules := list -}}
{{- range $at, $rule := $all -}}
  {{- $isCovered := false -}}
  {{- range $place, $other := $all -}}
    {{- if and (ne $at $place) (eq (toString $rule.apiGroups) (toString $other.apiGroups)) (include "stonegate.includes" (list $other $rule)) -}}
      {{- if or (lt $place $at) (not (include "stonegate.includes" (list $rule $other))) -}}{{- $isCovered = true -}}{{- end -}}
    {{- end -}}
  {{- end -}}
  {{- if not $isCovered -}}{{- $rules = append $rules $rule -}}{{- end -}}
{{- end -}}
{{- toJson $rules -}}
{{- end -}}

{{- /* "true" if the first of two rules of one API group includes the second. */ -}}
{{- define "stonegate.includes" -}}
{{- $larger := index . 0 -}}
{{- $smaller := index . 1 -}}
{{- $includes := true -}}
{{- range $field := list "resources" "verbs" "resourceNames" -}}
  {{- if or (ne $field "resourceNames") (hasKey $larger $field) -}}
    {{- $some := default list (get $smaller $field) -}}
    {{- $all := default list (get $larger $field) -}}
    {{- if not $some -}}{{- $includes = false -}}{{- end -}}
    {{- range $some -}}{{- if not (has . $all) -}}{{- $includes = false -}}{{- end -}}{{- end -}}
  {{- end -}}
{{- end -}}
{{- if $includes -}}true{{- end -}}
{{- end -}}

{{- /* As YAML, the rules of the credential that impersonates: each extra key is a resource of its own. */ -}}
{{- define "stonegate.impersonatorRules" -}}
{{- $given := include "stonegate.given" . | fromJson -}}
{{- $rbac := .Files.Get "files/rbac.json" | fromJson -}}
{{- if and $given.constrained (not $given.mayConstrainImpersonation) -}}
  {{- fail "rbac.constrained needs tenancy.mode shared" -}}
{{- end -}}
{{- $extras := $rbac.extraKeys.always -}}
{{- if not $given.readsTenantFromName -}}{{- $extras = concat $rbac.extraKeys.tenant $extras -}}{{- end -}}
{{- if $given.authentication.keystone -}}{{- $extras = concat $rbac.extraKeys.keystone $extras -}}{{- end -}}
{{- $jwt := default list $given.authentication.jwt -}}
{{- if or $jwt $given.authentication.configurationFile -}}{{- $extras = concat $extras $rbac.extraKeys.jwt -}}{{- end -}}
{{- range $jwt -}}
  {{- range (dig "claimMappings" "extra" list .) -}}{{- $extras = append $extras .key -}}{{- end -}}
{{- end -}}
{{- $extras = concat $extras (default list $given.authentication.impersonationExtraKeys) .Values.rbac.extraKeys -}}
{{- $rules := include "stonegate.neededRules" (list $rbac.impersonator $given $rbac) | fromJsonArray -}}
{{- range $rules -}}
  {{- if has "userextras/…" (default list .resources) -}}
    {{- $resources := without .resources "userextras/…" -}}
    {{- range (uniq $extras) -}}{{- $resources = append $resources (printf "userextras/%s" .) -}}{{- end -}}
    {{- $_ := set . "resources" $resources -}}
  {{- end -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end -}}

{{- /* As YAML, the rules of the credential that writes at the API server. */ -}}
{{- define "stonegate.provisionerRules" -}}
{{- $rbac := .Files.Get "files/rbac.json" | fromJson -}}
{{- include "stonegate.neededRules" (list $rbac.provisioner (include "stonegate.given" . | fromJson) $rbac) | fromJsonArray | toYaml -}}
{{- end -}}

{{- /* Not empty if Stonegate writes something at the API server: it provisions, or a feature does. */ -}}
{{- define "stonegate.writes" -}}
{{- $given := include "stonegate.given" . | fromJson -}}
{{- if ne (dig "bindings" "provision" "none" $given) "none" -}}true{{- end -}}
{{- range (.Files.Get "files/rbac.json" | fromJson).writes -}}{{- include "stonegate.holds" (list . $given) -}}{{- end -}}
{{- end -}}

{{- /* Not empty if Stonegate stores custom resources. */ -}}
{{- define "stonegate.needsObjects" -}}
{{- $given := include "stonegate.given" . | fromJson -}}
{{- range (.Files.Get "files/rbac.json" | fromJson).stores -}}{{- include "stonegate.holds" (list . $given) -}}{{- end -}}
{{- end -}}

{{- /* Refuses what would grant nothing, or what Stonegate would refuse to publish. */ -}}
{{- define "stonegate.refuseRights" -}}
{{- $given := include "stonegate.given" . | fromJson -}}
{{- $rbac := .Files.Get "files/rbac.json" | fromJson -}}
{{- if not $given.hasTenantsInPaths -}}
  {{- range (list "abacPolicyFile" "administrations" "tenantAdministrations" "crossTenantPolicies") -}}
    {{- if dig "authorization" . "" $given -}}
      {{- fail "configuration.authorization: expected no cross-tenant policies in shared mode" -}}
    {{- end -}}
  {{- end -}}
  {{- if dig "publishing" "clusterScoped" "" $given -}}
    {{- fail "configuration.publishing.clusterScoped: expected none in shared mode" -}}
  {{- end -}}
{{- end -}}
{{- $paths := list "publishing.kinds.*" "publishing.clusterScoped.*.resource" -}}
{{- range $kind := include "stonegate.valuesAt" (list $paths $given) | fromJsonArray -}}
  {{- with include "stonegate.kind" (list $kind $rbac) | fromJson -}}
    {{- if or (has .group $rbac.notPublished.groups) (and (not .group) (has .resource $rbac.notPublished.resources)) -}}
      {{- fail (printf "configuration.publishing: %s is never published" $kind) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{- /* Stonegate's account at the API server: always a user if it cannot run in that cluster. */ -}}
{{- define "stonegate.subject" -}}
{{- $user := .Values.rbac.user -}}
{{- if not (include "stonegate.given" . | fromJson).runsInCluster -}}{{- $user = default "stonegate" $user -}}{{- end -}}
{{- if $user -}}
- apiGroup: rbac.authorization.k8s.io
  kind: User
  name: {{ $user | quote }}
{{- else -}}
- kind: ServiceAccount
  namespace: {{ .Release.Namespace }}
  name: {{ include "stonegate.serviceAccountName" . }}
{{- end -}}
{{- end -}}
