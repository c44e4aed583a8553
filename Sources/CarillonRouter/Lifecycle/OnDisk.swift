import Dispatch

/// Runs `body` where it may wait for the disk, which the threads that tasks share must not.
func onDisk(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
        DispatchQueue.global(qos: .utility)
            .async {
                body()
                continuation.resume()
            }
    }
}
