/** Whole jobs on a MiniCluster behind the port of the component pipeline. */
package conformance.flink.pipeline;
