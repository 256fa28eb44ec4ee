/** Operator coordinators of a released Flink behind the JSON Lines protocol. */
package conformance.flink.coordinator;
