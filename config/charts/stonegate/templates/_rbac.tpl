{{- /*
Rules come from files/rbac.json, which `npm run schema` writes from the table of `stonegate manifests rbac`: each right
with the conditions under which it is needed. Placeholders are replaced by the configuration's names.
*/ -}}
{{- define "stonegate.impersonatorRules" -}}
{{- $given := .Values.configuration -}}
{{- $rbac := .Files.Get "files/rbac.json" | fromJson -}}
{{- $facts := default dict (get $rbac.facts (default "" $given.tenancy.mode)) -}}
{{- if and .Values.rbac.constrained (not $facts.mayConstrainImpersonation) -}}
  {{- fail "rbac.constrained needs tenancy.mode shared" -}}
{{- end -}}
{{- $conditions := list (ternary "constrained" "unconstrained" .Values.rbac.constrained) -}}
{{- range $name, $value := $facts -}}
  {{- $conditions = append $conditions (ternary (printf "!%s" $name) $name (not $value)) -}}
{{- end -}}
{{- $extras := $rbac.extraKeys.always -}}
{{- if not $facts.readsTenantFromName -}}{{- $extras = concat $rbac.extraKeys.tenant $extras -}}{{- end -}}
{{- if $given.authentication.keystone -}}{{- $extras = concat $rbac.extraKeys.keystone $extras -}}{{- end -}}
{{- $jwt := default list $given.authentication.jwt -}}
{{- if or $jwt $given.authentication.configurationFile -}}{{- $extras = concat $extras $rbac.extraKeys.jwt -}}{{- end -}}
{{- range $jwt -}}
  {{- range (dig "claimMappings" "extra" list .) -}}{{- $extras = append $extras .key -}}{{- end -}}
{{- end -}}
{{- $extras = concat $extras (default list $given.authentication.impersonationExtraKeys) .Values.rbac.extraKeys -}}
{{- $rules := list -}}
{{- range $rbac.impersonator -}}
  {{- $rule := .rule -}}
  {{- $isNeeded := true -}}
  {{- range .when -}}
    {{- if not (or (has . $conditions) (include "stonegate.isSet" (list . $given))) -}}{{- $isNeeded = false -}}{{- end -}}
  {{- end -}}
  {{- if has "userextras/…" (default list $rule.resources) -}}
    {{- $resources := without $rule.resources "userextras/…" -}}
    {{- range (uniq $extras) -}}{{- $resources = append $resources (printf "userextras/%s" .) -}}{{- end -}}
    {{- $_ := set $rule "resources" $resources -}}
  {{- end -}}
  {{- if $isNeeded -}}{{- $rules = append $rules $rule -}}{{- end -}}
{{- end -}}
{{- $_ := include "stonegate.policyForms" . -}}
{{- toYaml (uniq $rules) -}}
{{- end -}}

{{- /* "true" if the configuration has the field of the path, neither false nor empty. */ -}}
{{- define "stonegate.isSet" -}}
{{- $value := index . 1 -}}
{{- range (splitList "." (index . 0)) -}}
  {{- $value = ternary (get (default dict $value) .) "" (kindIs "map" $value) -}}
{{- end -}}
{{- if or (kindIs "map" $value) $value -}}true{{- end -}}
{{- end -}}

{{- /* The forms of cross-tenant policies that the configuration has. */ -}}
{{- define "stonegate.policyForms" -}}
{{- $forms := list -}}
{{- $authorization := default dict .Values.configuration.authorization -}}
{{- if $authorization.abacPolicyFile -}}{{- $forms = append $forms "abac" -}}{{- end -}}
{{- range (list "administrations" "tenantAdministrations" "crossTenantPolicies") -}}
  {{- if get $authorization . -}}{{- $forms = append $forms . -}}{{- end -}}
{{- end -}}
{{- if and $forms (eq .Values.configuration.tenancy.mode "shared") -}}
  {{- fail "configuration.authorization: expected no cross-tenant policies in shared mode" -}}
{{- end -}}
{{- toJson $forms -}}
{{- end -}}

{{- /* What policies and published roles may grant besides the rules of stonegate:manage. */ -}}
{{- define "stonegate.grantableRules" -}}
{{- $never := (.Files.Get "files/rbac.json" | fromJson).notGrantable -}}
{{- $rules := list -}}
{{- range (dig "access" "grantable" list .Values.configuration) -}}
  {{- $groups := list -}}
  {{- range .apiGroups -}}{{- if not (has . $never.groups) -}}{{- $groups = append $groups . -}}{{- end -}}{{- end -}}
  {{- $verbs := list -}}
  {{- range .verbs -}}{{- if not (has . $never.verbs) -}}{{- $verbs = append $verbs . -}}{{- end -}}{{- end -}}
  {{- if and $groups $verbs -}}
    {{- $rules = append $rules (merge (dict "apiGroups" $groups "verbs" $verbs) (pick . "resources" "resourceNames")) -}}
  {{- end -}}
{{- end -}}
{{- toJson $rules -}}
{{- end -}}

{{- /* Rights on the kinds that are published. None is granted that Stonegate would refuse to publish. */ -}}
{{- define "stonegate.publishedKindRules" -}}
{{- $rbac := .Files.Get "files/rbac.json" | fromJson -}}
{{- $publishing := .Values.configuration.publishing -}}
{{- $rules := list -}}
{{- $kinds := list -}}
{{- if and $publishing.clusterScoped (eq .Values.configuration.tenancy.mode "shared") -}}
  {{- fail "configuration.publishing.clusterScoped: expected none in shared mode" -}}
{{- end -}}
{{- range (default list $publishing.clusterScoped) -}}{{- $kinds = append $kinds .resource -}}{{- end -}}
{{- if $publishing.namespaces -}}
  {{- $rules = $rbac.publishedKinds -}}
  {{- $kinds = concat $kinds (default list $publishing.kinds) -}}
{{- end -}}
{{- range $kinds -}}
  {{- $parts := splitList "/" . -}}
  {{- $group := ternary (first $parts) "" (eq (len $parts) 3) -}}
  {{- if eq (len $parts) 1 -}}{{- $group = get $rbac.tenantKinds . -}}{{- end -}}
  {{- if or (has $group $rbac.notPublished.groups) (and (not $group) (has (last $parts) $rbac.notPublished.resources)) -}}
    {{- fail (printf "configuration.publishing: %s is never published" .) -}}
  {{- end -}}
  {{- $rules = append $rules (dict "apiGroups" (list $group) "resources" (list (last $parts)) "verbs" $rbac.publishedVerbs) -}}
{{- end -}}
{{- toJson $rules -}}
{{- end -}}

{{- define "stonegate.provisionerRules" -}}
{{- $given := .Values.configuration -}}
{{- $bindings := default dict $given.bindings -}}
{{- $rbac := .Files.Get "files/rbac.json" | fromJson -}}
{{- $key := $given.tenancy.mode -}}
{{- $held := list -}}
{{- if dig "createRoles" true $bindings -}}
  {{- $key = printf "%s createRoles" $key -}}
  {{- if eq $given.tenancy.mode "shared" -}}{{- $held = $rbac.heldClusterRoles -}}{{- end -}}
{{- end -}}
{{- $targets := list (dict "roles" (dig "roles" $rbac.defaultRoles $bindings)) -}}
{{- range (list (default dict $bindings.projects) (default dict $bindings.domains)) -}}
  {{- $targets = concat $targets (values .) -}}
{{- end -}}
{{- $names := dict "clusterroles" list "roles" list -}}
{{- range $targets -}}
  {{- range (values (default dict .roles)) -}}
    {{- $target := ternary (dict "clusterRole" .) . (kindIs "string" .) -}}
    {{- if $target.role -}}{{- $_ := set $names "roles" (append $names.roles $target.role) -}}
    {{- else if not (has $target.clusterRole $held) -}}{{- $_ := set $names "clusterroles" (append $names.clusterroles $target.clusterRole) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- $rules := list -}}
{{- range (get $rbac.provisioner $key) -}}
  {{- $rule := . -}}
  {{- if has "placeholder" (default list $rule.resourceNames) -}}
    {{- $resourceNames := concat (without $rule.resourceNames "placeholder") (get $names (first $rule.resources)) -}}
    {{- $_ := set $rule "resourceNames" ($resourceNames | uniq | sortAlpha) -}}
    {{- if $resourceNames -}}{{- $rules = append $rules $rule -}}{{- end -}}
  {{- else -}}
    {{- $rules = append $rules $rule -}}
  {{- end -}}
{{- end -}}
{{- $policies := ne (include "stonegate.policyForms" .) "[]" -}}
{{- if $policies -}}{{- $rules = concat $rules $rbac.policyProvisioning -}}{{- end -}}
{{- if $given.quota -}}
  {{- $rules = concat $rules $rbac.quota -}}
  {{- range (default list $given.quota.count) -}}
    {{- $parts := splitList "/" . -}}
    {{- $group := ternary (first $parts) "" (eq (len $parts) 3) -}}
    {{- $rules = append $rules (dict "apiGroups" (list $group) "resources" (list (last $parts)) "verbs" (list "get" "list" "watch")) -}}
  {{- end -}}
{{- end -}}
{{- range $section, $more := get $rbac.sections $given.tenancy.mode -}}
  {{- if hasKey $given $section -}}{{- $rules = concat $rules $more -}}{{- end -}}
{{- end -}}
{{- if dig "quota" "keystoneLimits" dict $given -}}{{- $rules = concat $rules $rbac.quotaProvisioning -}}{{- end -}}
{{- if $given.publishing -}}
  {{- $rules = concat $rules (get $rbac.publishing $given.tenancy.mode) (include "stonegate.publishedKindRules" . | fromJsonArray) -}}
{{- end -}}
{{- if or $policies $given.publishing -}}
  {{- $rules = concat $rules (include "stonegate.grantableRules" . | fromJsonArray) -}}
{{- end -}}
{{- toYaml (uniq $rules) -}}
{{- end -}}

{{- /* Stonegate's account at the API server. In arktos mode it is always a user. */ -}}
{{- define "stonegate.subject" -}}
{{- $user := .Values.rbac.user -}}
{{- if eq .Values.configuration.tenancy.mode "arktos" -}}{{- $user = default "stonegate" $user -}}{{- end -}}
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
