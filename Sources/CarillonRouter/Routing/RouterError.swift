/// Why the router cannot begin.
package struct RouterError: Error, CustomStringConvertible {
    package let description: String
    /// Whether another router has the store.
    package private(set) var isOfStoreInUse = false

    private init(description: String) {
        self.description = description
    }

    /// `key` is where the configuration says it.
    static func cannotListen(_ key: String, host: String, port: Int, _ error: any Error) -> RouterError {
        RouterError(description: "\(key): cannot listen on \(host):\(port): \(error)")
    }

    /// `owner` is the number of the process that has it, or empty.
    static func storeInUse(_ path: String, by owner: String) -> RouterError {
        let process = owner.isEmpty ? "" : " (process \(owner))"
        var error = RouterError(
            description:
                "store.path: another router\(process) runs on \(path), and both would send everything: stop it first"
        )
        error.isOfStoreInUse = true
        return error
    }

    static func cannotLock(_ path: String, errno number: Int32) -> RouterError {
        RouterError(
            description:
                "store.path: cannot open or create \(path) (errno \(number)); check that its folder exists and is writable"
        )
    }
}
