// Command informer runs client-go's shared informer on one resource, as controllers do, and prints what it sees: a line of
// JSON for each event, and one when its store has synced. It ends with its standard input.
//
//	informer --kubeconfig FILE --resource [GROUP/]VERSION/RESOURCE [--namespace NAME]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// A line of output.
type line struct {
	Event     string `json:"event"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Error     string `json:"error,omitempty"`
}

var output sync.Mutex

func print(l line) {
	output.Lock()
	defer output.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(l); err != nil {
		os.Exit(1)
	}
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the kubeconfig file")
	resource := flag.String("resource", "", "[GROUP/]VERSION/RESOURCE")
	namespace := flag.String("namespace", metav1.NamespaceAll, "the namespace; all of them without it")
	flag.Parse()
	if err := run(*kubeconfig, *resource, *namespace); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig, resource, namespace string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	gvr, err := parse(resource)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()

	informer := dynamicinformer.NewFilteredDynamicInformer(client, gvr, namespace, 0, cache.Indexers{}, nil).Informer()
	if err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		print(line{Event: "error", Error: err.Error()})
	}); err != nil {
		return err
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { report("added", object) },
		UpdateFunc: func(_, object any) { report("updated", object) },
		DeleteFunc: func(object any) { report("deleted", object) },
	}); err != nil {
		return err
	}
	go informer.Run(ctx.Done())
	if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		print(line{Event: "synced"})
	}
	<-ctx.Done()
	return nil
}

func parse(resource string) (schema.GroupVersionResource, error) {
	switch parts := strings.Split(resource, "/"); len(parts) {
	case 2:
		return schema.GroupVersionResource{Version: parts[0], Resource: parts[1]}, nil
	case 3:
		return schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}, nil
	}
	return schema.GroupVersionResource{}, fmt.Errorf("not [GROUP/]VERSION/RESOURCE: %q", resource)
}

func report(event string, object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		print(line{Event: "error", Error: err.Error()})
		return
	}
	print(line{Event: event, Namespace: accessor.GetNamespace(), Name: accessor.GetName()})
}
