import CarillonABI
import Foundation
import Notifications
import Platforms
import PluginProtocol

/// A transport's functions with everything required present: those of a library in this process, which is never
/// unloaded, or ones that ask a process of its own.
package struct TransportFunctions: Sendable {
    package typealias Create =
        @Sendable (
            UnsafePointer<carillon_host>?, carillon_str, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
            UnsafeMutablePointer<carillon_error>?
        ) -> carillon_status
    package typealias Destroy = @Sendable (UnsafeMutableRawPointer?) -> Void
    package typealias Validate =
        @Sendable (
            UnsafeMutableRawPointer?, UnsafePointer<carillon_registration>?, UnsafeMutablePointer<carillon_error>?
        ) -> carillon_status
    package typealias Deliver =
        @Sendable (
            UnsafeMutableRawPointer?, UInt64, UnsafePointer<carillon_registration>?,
            UnsafePointer<carillon_notification>?
        ) -> carillon_status
    package typealias Cancel = @Sendable (UnsafeMutableRawPointer?, UInt64) -> Void

    package typealias Command =
        @Sendable (
            UnsafeMutableRawPointer?, UnsafePointer<carillon_str>?, Int, carillon_command_done?,
            UnsafeMutableRawPointer?
        ) -> carillon_status

    package typealias DeliverMany =
        @Sendable (
            UnsafeMutableRawPointer?, UnsafePointer<UnsafePointer<carillon_delivery>?>?, Int
        ) -> carillon_status

    package typealias Receive =
        @Sendable (
            UnsafeMutableRawPointer?, UnsafePointer<carillon_inbound_request>?, carillon_inbound_done?,
            UnsafeMutableRawPointer?
        ) -> carillon_status

    package typealias Check =
        @Sendable (carillon_str, UnsafeMutablePointer<carillon_error>?) -> carillon_status

    package let platform: String
    /// What the plugin says about the platform; nil: nothing, or in a version of the format that is newer than this
    /// host.
    package let description: PlatformDescription?
    /// The description as the plugin gave it.
    package let document: String?
    /// Whether it seals notifications itself (`CARILLON_TRANSPORT_ENCRYPTS`).
    let encrypts: Bool
    /// Whether a person sees whatever it delivers (`CARILLON_TRANSPORT_SHOWS`).
    let shows: Bool
    package internal(set) var create: Create
    package internal(set) var destroy: Destroy
    package internal(set) var validate: Validate?
    package internal(set) var deliver: Deliver
    package internal(set) var cancel: Cancel?
    package internal(set) var command: Command?
    package internal(set) var check: Check?
    /// Whether a delivery of that id must be kept from the plugin; nil: none ever.
    var isSetAside: (@Sendable (DeliveryID) -> Bool)?
    /// Nil where ``manyLimit`` is 0.
    package internal(set) var deliverMany: DeliverMany?
    package internal(set) var receive: Receive?
    /// The most deliveries that `deliverMany` takes; 0: none.
    package let manyLimit: Int
    /// Whether it takes only what goes to one token (`CARILLON_TRANSPORT_MANY_PER_TOKEN`).
    package let manyPerToken: Bool

    init(reading pointer: UnsafePointer<carillon_transport>) throws(PluginRefusal.Reason) {
        guard let transport = carillon_transport(adopting: pointer) else {
            throw .badDescriptor("struct_size of a carillon_transport is implausible")
        }
        guard let platform = PluginText.word(transport.platform) else {
            throw .badDescriptor("a platform's name must be 1 to 64 of a-z, 0-9, \"-\" and \"_\"")
        }
        let owner = "transport \(platform)"
        guard let create = transport.create else { throw .missingFunction("create", of: owner) }
        guard let destroy = transport.destroy else { throw .missingFunction("destroy", of: owner) }
        guard let deliver = transport.deliver else { throw .missingFunction("deliver", of: owner) }
        self.platform = platform
        document = try Self.document(transport.describe, of: platform)
        description = try document.flatMap { text throws(PluginRefusal.Reason) in
            try Self.description(text, of: platform)
        }
        self.encrypts = transport.flags & UInt32(CARILLON_TRANSPORT_ENCRYPTS) != 0
        self.shows = transport.flags & UInt32(CARILLON_TRANSPORT_SHOWS) != 0
        let limit = transport.deliver_many_limit
        guard limit == 0 || (2...UInt32(DeliverManyMessage.countLimit)).contains(limit) else {
            throw .badDescriptor("deliver_many_limit of \(owner) is neither 0 nor 2 to 1000")
        }
        guard limit == 0 || transport.deliver_many != nil else { throw .missingFunction("deliver_many", of: owner) }
        manyLimit = Int(limit)
        manyPerToken = transport.flags & UInt32(CARILLON_TRANSPORT_MANY_PER_TOKEN) != 0
        let required = LibraryFunctions((create: create, destroy: destroy, deliver: deliver))
        self.create = { required.table.create($0, $1, $2, $3) }
        self.destroy = { required.table.destroy($0) }
        self.deliver = { required.table.deliver($0, $1, $2, $3) }
        validate = transport.validate.map(LibraryFunctions.init).map { library in { library.table($0, $1, $2) } }
        cancel = transport.cancel.map(LibraryFunctions.init).map { library in { library.table($0, $1) } }
        command = transport.command.map(LibraryFunctions.init).map { library in { library.table($0, $1, $2, $3, $4) } }
        check = transport.check.map(LibraryFunctions.init).map { library in { library.table($0, $1) } }
        if limit > 0 {
            deliverMany = transport.deliver_many.map(LibraryFunctions.init)
                .map { library in { library.table($0, $1, $2) } }
        }
        receive = transport.receive.map(LibraryFunctions.init).map { library in { library.table($0, $1, $2, $3) } }
    }

    private static func document(
        _ text: carillon_str,
        of platform: String
    ) throws(PluginRefusal.Reason) -> String? {
        guard text.len != 0 else { return nil }
        guard let document = PluginText.string(text, limit: PlatformDescription.limit) else {
            throw .badDescription("expected at most \(PlatformDescription.limit) bytes of UTF-8", of: platform)
        }
        return document
    }

    private static func description(
        _ document: String,
        of platform: String
    ) throws(PluginRefusal.Reason) -> PlatformDescription? {
        guard !isNewer(document) else { return nil }
        do {
            return try PlatformDescription(parsing: document)
        } catch {
            throw .badDescription(PluginText.printable("\(error)"), of: platform)
        }
    }

    /// Whether a document is written in a version of the format that comes after this host's.
    private static func isNewer(_ document: String) -> Bool {
        struct Version: Decodable {
            let version: Int
        }
        let version = try? JSONDecoder().decode(Version.self, from: Data(document.utf8)).version
        return version.map { $0 > PlatformDescription.version } ?? false
    }

    /// What the plugin finds wrong with a rule's block, as JSON with literals only; nil: nothing. It may begin with a
    /// JSON pointer and `: `. Any thread.
    package func mistake(in block: String) -> String? {
        guard let check else { return nil }
        var block = block
        let (status, said) = block.withUTF8 { text in
            ErrorBuffer.lend { check(carillon_str(ptr: UnsafeRawPointer(text.baseAddress), len: text.count), $0) }
        }
        return status == .CARILLON_OK ? nil : said
    }
}

/// C functions of a library in this process.
///
/// Unchecked: it is never unloaded, and its functions may be called from any thread.
struct LibraryFunctions<Table>: @unchecked Sendable {
    let table: Table

    init(_ table: Table) { self.table = table }
}
