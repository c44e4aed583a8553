import Glibc

/// Runs work on a thread that nobody joins.
enum DetachedThread {
    private final class Work {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    /// Runs `work` on a thread of its own. Returns false, with nothing done, when the system has none left.
    static func run(_ work: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        guard pthread_attr_init(&attributes) == 0 else { return false }
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let work = Unmanaged.passRetained(Work(work))
        var thread = pthread_t()
        let code = pthread_create(
            &thread,
            &attributes,
            { context in
                if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            },
            work.toOpaque()
        )
        if code != 0 { work.release() }
        return code == 0
    }
}
