/** A job on a MiniCluster that checks the protocol between the coordinator and the readers of a source. */
package conformance.flink.job;
