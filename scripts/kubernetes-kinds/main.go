// Command kubernetes-kinds prints how the built-in kinds of Kubernetes are written in protobuf and in JSON, which
// src/kubernetes/kubernetes-protobuf.ts reads. It takes both from the struct tags of client-go's kinds. It fails if a kind has a type
// that the reader does not know.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

// Types whose JSON does not follow from their fields. The reader knows them by these names.
var ownJSON = []reflect.Type{
	reflect.TypeFor[resource.Quantity](),
	reflect.TypeFor[intstr.IntOrString](),
	reflect.TypeFor[metav1.Time](),
	reflect.TypeFor[metav1.MicroTime](),
	reflect.TypeFor[metav1.FieldsV1](),
	reflect.TypeFor[runtime.RawExtension](),
}

// Definitions of messages by name. A message that several versions of an API have alike is defined once.
type messages map[string]string

func main() {
	found := messages{}
	kinds := map[string]map[string]string{}
	types := scheme.Scheme.AllKnownTypes()
	maps.DeleteFunc(types, func(gvk schema.GroupVersionKind, kind reflect.Type) bool {
		return gvk.Version == runtime.APIVersionInternal || !isSent(kind)
	})
	for _, gvk := range slices.SortedFunc(maps.Keys(types), func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	}) {
		version := gvk.GroupVersion().String()
		if kinds[version] == nil {
			kinds[version] = map[string]string{}
		}
		kinds[version][gvk.Kind] = found.add(types[gvk])
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(map[string]any{"kinds": kinds, "messages": found}); err != nil {
		panic(err)
	}
}

// Whether clients send the kind as the body of a request: what has metadata of its own, and the options of a deletion.
// Other options stand in the query.
func isSent(kind reflect.Type) bool {
	if kind == reflect.TypeFor[metav1.DeleteOptions]() {
		return true
	}
	metadata, ok := kind.FieldByName("ObjectMeta")
	return ok && metadata.Type == reflect.TypeFor[metav1.ObjectMeta]()
}

// Its name, which is the type's followed by a number if another message has that name. A message that contained itself would
// not end here.
func (found messages) add(message reflect.Type) string {
	var fields []string
	for field := range message.Fields() {
		if field.Type == reflect.TypeFor[metav1.TypeMeta]() {
			continue
		}
		fields = append(fields, found.field(message, field))
	}
	definition := strings.Join(fields, ", ")
	name := message.Name()
	for number := 2; ; number++ {
		if before, taken := found[name]; !taken || before == definition {
			found[name] = definition
			return name
		}
		name = fmt.Sprint(message.Name(), number)
	}
}

// NUMBER NAME TYPE. An inlined field has no name; "?" follows the name of one that JSON leaves out if it is empty.
func (found messages) field(message reflect.Type, field reflect.StructField) string {
	protobuf := strings.Split(field.Tag.Get("protobuf"), ",")
	json := strings.Split(field.Tag.Get("json"), ",")
	if len(protobuf) < 2 || json[0] == "" != slices.Contains(json, "inline") || json[0] == "-" {
		panic(fmt.Sprintf("%v.%s: %s", message, field.Name, field.Tag))
	}
	name, written := json[0], found.typeOf(field.Type)
	isStruct := field.Type.Kind() == reflect.Struct
	if slices.Contains(json, "omitzero") && written != "Time" {
		panic(fmt.Sprintf("%v.%s: %s", message, field.Name, field.Tag))
	}
	if slices.Contains(json, "omitempty") && !isStruct || slices.Contains(json, "omitzero") {
		name += "?"
	}
	return fmt.Sprintf("%s %s %s", protobuf[1], name, written)
}

func (found messages) typeOf(field reflect.Type) string {
	if slices.Contains(ownJSON, field) {
		return field.Name()
	}
	switch field.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int32, reflect.Int64:
		return field.Kind().String()
	case reflect.Pointer:
		return "*" + found.typeOf(field.Elem())
	case reflect.Map:
		if field.Key().Kind() == reflect.String {
			return "map " + found.typeOf(field.Elem())
		}
	case reflect.Slice:
		// A list that is a message of its own, so that it can be a value of a map.
		if _, ok := reflect.New(field).Interface().(interface{ Unmarshal([]byte) error }); ok && field.Elem().Kind() == reflect.String {
			return "items"
		}
		if field.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "list " + found.typeOf(field.Elem())
	case reflect.Struct:
		return found.add(field)
	}
	panic(fmt.Sprintf("unknown type %v", field))
}
