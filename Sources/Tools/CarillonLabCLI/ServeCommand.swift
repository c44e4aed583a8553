import ArgumentParser
import CarillonLab
import Dispatch
import Foundation

/// `carillon-lab serve`: runs until SIGINT or SIGTERM.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Start the services and print every request.",
        discussion: """
            Writes ca.pem, AuthKey.p8, push-certificate.pem and .p12, service-account.json and vapid.pem (keys are kept when they are already there) and, once \
            everything listens, lab.json into the folder.

            \(ScriptedBehaviorHelp.text)
            """
    )

    @Option(help: ArgumentHelp("The folder for keys, ca.pem and lab.json.", valueName: "folder"))
    var folder: String

    @Option(help: ArgumentHelp("0 for any free port.", valueName: "port"))
    var apnsPort: UInt16 = 0

    @Option(help: ArgumentHelp("APNs' sandbox; 0 for any free port.", valueName: "port"))
    var apnsSandboxPort: UInt16 = 0

    @Option(help: ArgumentHelp("The management of APNs' broadcast channels; 0 for any free port.", valueName: "port"))
    var apnsChannelsPort: UInt16 = 0

    @Option(help: ArgumentHelp("FCM and its token endpoint; 0 for any free port.", valueName: "port"))
    var fcmPort: UInt16 = 0

    @Option(help: "A Firebase project with its own service account; repeatable.")
    var project = ["carillon-lab"]

    @Option(name: .customLong("unifiedpush-port"), help: ArgumentHelp("0 for any free port.", valueName: "port"))
    var unifiedPushPort: UInt16 = 0

    @Option(name: .customLong("webpush-port"), help: ArgumentHelp("0 for any free port.", valueName: "port"))
    var webPushPort: UInt16 = 0

    @Option(help: ArgumentHelp("0 for any free port.", valueName: "port"))
    var ntfyPort: UInt16 = 0

    @Option(help: ArgumentHelp("0 for any free port.", valueName: "port"))
    var gotifyPort: UInt16 = 0

    @Option(help: ArgumentHelp("A service that accepts every request; 0 for any free port.", valueName: "port"))
    var otherPort: UInt16 = 0

    @Flag(help: "ntfy requires an access token, except for topics of UnifiedPush.")
    var ntfyPrivate = false

    @Option(help: ArgumentHelp("0 for any free port.", valueName: "port"))
    var controlPort: UInt16 = 0

    @Flag(name: .customLong("unifiedpush-tls"), help: "HTTPS for UnifiedPush, with the same certificate.")
    var unifiedPushTLS = false

    @Flag(name: .customLong("unifiedpush-cut"), help: "Cut messages above 4096 bytes as ntfy does, instead of 413.")
    var unifiedPushCut = false

    @Option(help: "The bundle id that the key may send for.")
    var topic = "com.example.app"

    @Option(help: "The team that the key belongs to.")
    var teamID = "LABTEAM001"

    @Option(help: "The id of the key.")
    var keyID = "LABKEY0001"

    @Flag(help: "Refuse device tokens that were not declared through the control endpoint.")
    var declaredTokensOnly = false

    @Option(help: ArgumentHelp("Concurrent APNs streams after the first valid provider token.", valueName: "count"))
    var streams = 1_000

    @Option(help: ArgumentHelp("Concurrent APNs streams before it; clients like h2load need more.", valueName: "count"))
    var firstStreams = 1

    @Option(help: ArgumentHelp("What to do instead of a valid response; repeatable.", valueName: "misbehaviour"))
    var misbehave: [String] = []

    @Option(help: ArgumentHelp("PEM files for the lab's TLS: chain, key, and what clients trust.", valueName: "pem"))
    var certificate: [String] = []

    @Option(help: "Another name in the lab's certificate, for clients behind a proxy; repeatable.")
    var name: [String] = []

    @Flag(help: "Serve Firefox and Chromium as their push service; lab.json has the settings they need.")
    var browsers = false

    @Option(help: ArgumentHelp("With --browsers: Firefox's connection; 0 for any free port.", valueName: "port"))
    var firefoxPort: UInt16 = 0

    @Option(help: ArgumentHelp("With --browsers: Chromium's registration; 0 for any free port.", valueName: "port"))
    var chromiumPort: UInt16 = 0

    @Option(help: ArgumentHelp("With --browsers: Chromium's messages; 0 for any free port.", valueName: "port"))
    var chromiumMessagesPort: UInt16 = 0

    @Flag(help: "Print no requests.")
    var quiet = false

    @Flag(help: "Exit and remove the folder when standard input closes, for programs that start their own lab.")
    var throwAway = false

    func validate() throws {
        guard certificate.isEmpty || certificate.count == 3 else {
            throw ValidationError("--certificate must be given three times: the chain, its key, the authority.")
        }
        guard streams > 0, firstStreams > 0 else {
            throw ValidationError("--streams and --first-streams must be above 0.")
        }
    }

    func run() async throws {
        if throwAway, try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty == false {
            throw ValidationError("--throw-away: expected an empty folder, but \(folder) is not empty")
        }
        defer { if throwAway { try? FileManager.default.removeItem(atPath: folder) } }
        let keyFile = KeyFile(path: folder + "/AuthKey.p8")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let credentials = try keyFile.credentials(keyID: keyID, teamID: teamID, topic: topic)
        let vapidFile = KeyFile(path: folder + "/vapid.pem")
        var configuration = try labConfiguration(credentials)
        configuration.webPush?.vapid = try vapidFile.vapid()
        let stop = StopSignal()
        let lab = try await Lab.start(configuration)
        var addresses = lab.addresses
        addresses.apns.keyFile = keyFile.path
        addresses.apnsSandbox?.keyFile = keyFile.path
        addresses.webPush?.keyFile = vapidFile.path
        do {
            try Data((addresses.json + "\n").utf8).write(
                to: URL(fileURLWithPath: folder + "/lab.json"),
                options: .atomic
            )
        } catch {
            await lab.shutdown()
            throw error
        }
        Self.say(addresses.json)
        if throwAway { stop.arriveAtEndOfInput() }
        let printing = quiet ? nil : Task { await Self.printRequests(of: lab) }
        await stop.arrival()
        await lab.shutdown()
        await printing?.value
        try? FileManager.default.removeItem(atPath: folder + "/lab.json")
    }

    private func labConfiguration(_ credentials: LabCredentials) throws -> LabConfiguration {
        var configuration = LabConfiguration()
        configuration.folder = folder
        configuration.names = name
        configuration.apns.port = Int(apnsPort)
        configuration.apns.sandboxPort = Int(apnsSandboxPort)
        configuration.apns.channelsPort = Int(apnsChannelsPort)
        configuration.apns.credentials = [credentials]
        configuration.apns.acceptsUndeclaredDevices = !declaredTokensOnly
        configuration.apns.streams = streams
        configuration.apns.streamsBeforeAuthorization = firstStreams
        configuration.fcm = LabConfiguration.FCM(
            accounts: try project.enumerated().map { index, project in
                let name = index == 0 ? "service-account.json" : "service-account-\(index + 1).json"
                return try ServiceAccountFile(path: folder + "/" + name).account(projectID: project)
            }
        )
        configuration.fcm?.port = Int(fcmPort)
        configuration.fcm?.acceptsUndeclaredDevices = !declaredTokensOnly
        configuration.unifiedPush?.port = Int(unifiedPushPort)
        configuration.unifiedPush?.usesTLS = unifiedPushTLS
        configuration.unifiedPush?.oversize = unifiedPushCut ? .cut : .refused
        configuration.webPush?.port = Int(webPushPort)
        if browsers {
            var wanted = LabConfiguration.Browsers()
            wanted.firefoxPort = Int(firefoxPort)
            wanted.chromiumPort = Int(chromiumPort)
            wanted.chromiumMessagesPort = Int(chromiumMessagesPort)
            configuration.browsers = wanted
        }
        configuration.ntfy?.port = Int(ntfyPort)
        configuration.ntfy?.allowsAnonymous = !ntfyPrivate
        configuration.gotify?.port = Int(gotifyPort)
        configuration.otherPort = Int(otherPort)
        configuration.controlPort = Int(controlPort)
        configuration.misbehaviours = try misbehave.map { try ScriptedBehavior(parsing: $0) }
        if certificate.count == 3 {
            configuration.certificate = LabConfiguration.CertificateFiles(
                chain: certificate[0],
                key: certificate[1],
                authority: certificate[2]
            )
        }
        return configuration
    }

    private static func printRequests(of lab: Lab) async {
        // Ends when the lab is shut down.
        while let request = try? await lab.next(timeout: nil) {
            say(request.readable)
        }
    }

    /// Writes to standard output without a buffer, even to a pipe.
    private static func say(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }
}

/// Waits for SIGINT and SIGTERM.
struct StopSignal {
    private let arrivals: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let sources: [any DispatchSourceSignal]

    init() {
        let (arrivals, continuation) = AsyncStream.makeStream(of: Void.self)
        self.arrivals = arrivals
        self.continuation = continuation
        sources = [SIGINT, SIGTERM].map { number in
            // The default action would end the process before the source receives the signal.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { continuation.yield() }
            source.resume()
            return source
        }
    }

    /// Makes the end of standard input count as a signal from now on.
    func arriveAtEndOfInput() {
        Thread.detachNewThread { [continuation] in
            while !FileHandle.standardInput.availableData.isEmpty {}
            continuation.yield()
        }
    }

    func arrival() async {
        for await _ in arrivals { return }
    }
}

/// An operator's private key on disk, like Apple's `.p8` file.
struct KeyFile {
    let path: String

    /// Reads the provider key, or makes one that only its owner can read.
    func credentials(keyID: String, teamID: String, topic: String) throws -> LabCredentials {
        guard let pem = read() else {
            let credentials = LabCredentials(keyID: keyID, teamID: teamID, topic: topic)
            try write(credentials.keyPEM)
            return credentials
        }
        return try LabCredentials(keyPEM: pem, keyID: keyID, teamID: teamID, topic: topic)
    }

    /// Reads the VAPID key, or makes one that only its owner can read.
    func vapid() throws -> VAPIDCredentials {
        guard let pem = read() else {
            let vapid = VAPIDCredentials()
            try write(vapid.keyPEM)
            return vapid
        }
        return try VAPIDCredentials(keyPEM: pem)
    }

    private func read() -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    private func write(_ pem: String) throws {
        let isMade = FileManager.default.createFile(
            atPath: path,
            contents: Data(pem.utf8),
            attributes: [.posixPermissions: 0o600]
        )
        guard isMade else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path]) }
    }
}

/// A service account on disk, like Google's file.
struct ServiceAccountFile {
    let path: String

    /// Reads the account if it belongs to the project, or makes one. The lab writes it once it knows its port.
    func account(projectID: String) throws -> FCMServiceAccount {
        guard let data = FileManager.default.contents(atPath: path) else {
            return FCMServiceAccount(projectID: projectID)
        }
        let account = try FCMServiceAccount(json: String(decoding: data, as: UTF8.self))
        return account.projectID == projectID ? account : FCMServiceAccount(projectID: projectID)
    }
}
