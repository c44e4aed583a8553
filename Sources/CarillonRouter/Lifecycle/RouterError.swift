import Foundation
import Operations

/// Why the router cannot begin.
package struct RouterError: Error, CustomStringConvertible {
    package let description: String
    private init(description: String) {
        self.description = description
    }

    /// `key` is where the configuration says it.
    static func cannotListen(_ key: String, host: String, port: Int, _ error: any Error) -> RouterError {
        RouterError(description: "\(key): cannot listen on \(host):\(port): \(error)")
    }

    static let apartFromItsCluster = RouterError(
        description: "cluster: the configuration has a cluster, and this router was not joined to it"
    )

    static let partOfCluster = RouterError(
        description:
            "store.path: the store is a cluster member's, and the configuration has no block 'cluster': a router that served it "
            + "alone would send what the others send. carillon cluster export makes it a store of its own"
    )

    /// Root would leave files behind that the service can no longer use, in places that the service can choose.
    static func foreignFolder(of path: String, _ owner: FolderOwner) -> RouterError {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        return RouterError(
            description:
                "store.path: root does not serve in another user's folder: \(folder) belongs to user \(owner.user). Run it as that "
                + "one, with User= in systemd's unit or with \(owner.command("carillon serve …")); or give root the folder "
                + "and all in it, with chown -R 0:0 \(ShellWord.quoted(folder))"
        )
    }
}
