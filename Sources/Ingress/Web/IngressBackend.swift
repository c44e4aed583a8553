/// What stands behind the ingress: the devices it has met, and the outbox.
package protocol IngressBackend: Sendable {
    /// Keeps `pushes` and answers with as many results; what is answered with ``IngressAnswer/queued`` survives a power cut.
    ///
    /// Called on a queue of the ingress's own, one call at a time, and may wait for the disk.
    func keep(_ pushes: [IngressPush]) -> [IngressAnswer]
}
