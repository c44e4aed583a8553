import CarillonABI

/// `loaded`: the plugin's descriptor, and the addresses of its process's libraries, which give names to crash reports.
/// The frame names missing required functions: the router judges descriptors, not the child.
package struct DescriptorMessage: Equatable, Sendable {
    package struct Transport: Equatable, Sendable {
        package var flags: UInt32
        package var platform: String
        package var document: String
        package var functions: Functions
        /// `deliver_many_limit` of the table.
        package var manyLimit: UInt32

        package init(
            flags: UInt32,
            platform: String,
            document: String,
            functions: Functions,
            manyLimit: UInt32 = 0
        ) {
            self.flags = flags
            self.platform = platform
            self.document = document
            self.functions = functions
            self.manyLimit = manyLimit
        }
    }

    package struct Filter: Equatable, Sendable {
        package var flags: UInt32
        package var name: String
        package var kinds: [UInt32]
        package var functions: Functions

        package init(flags: UInt32, name: String, kinds: [UInt32], functions: Functions) {
            self.flags = flags
            self.name = name
            self.kinds = kinds
            self.functions = functions
        }
    }

    /// The functions of a table that are not NULL.
    package struct Functions: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        package static let create = Functions(rawValue: 1)
        package static let destroy = Functions(rawValue: 2)
        package static let validate = Functions(rawValue: 4)
        package static let deliver = Functions(rawValue: 8)
        package static let cancel = Functions(rawValue: 16)
        package static let command = Functions(rawValue: 32)
        package static let check = Functions(rawValue: 64)
        package static let decide = Functions(rawValue: 128)
        package static let needs = Functions(rawValue: 256)
        package static let deliverMany = Functions(rawValue: 512)
        package static let receive = Functions(rawValue: 1024)
    }

    /// A library in the child's memory.
    package struct Module: Equatable, Sendable {
        package var name: String
        package var start: UInt64
        package var size: UInt64

        package init(name: String, start: UInt64, size: UInt64) {
            self.name = name
            self.start = start
            self.size = size
        }
    }

    private static let entryLimit = 64
    private static let kindLimit = 64
    private static let moduleLimit = 512

    package var id: String
    package var version: String
    package var abiMinor: UInt32
    package var transports: [Transport]
    package var filters: [Filter]
    package var modules: [Module] = []
    /// The active confinement of the process, as bits of `CARILLON_CONFINED_FILES` and `CARILLON_CONFINED_CALLS`.
    package var confinement: UInt32 = 0

    package init(
        id: String,
        version: String,
        abiMinor: UInt32,
        transports: [Transport],
        filters: [Filter]
    ) {
        self.id = id
        self.version = version
        self.abiMinor = abiMinor
        self.transports = transports
        self.filters = filters
    }

    package func write(to writer: inout FrameWriter) {
        writer.text(id)
        writer.text(version)
        writer.number(abiMinor)
        writer.number(confinement)
        writer.number(UInt32(clamping: transports.count))
        for transport in transports {
            writer.number(transport.flags)
            writer.text(transport.platform)
            writer.text(transport.document)
            writer.number(transport.functions.rawValue)
            writer.number(transport.manyLimit)
        }
        writer.number(UInt32(clamping: filters.count))
        for filter in filters {
            writer.number(filter.flags)
            writer.text(filter.name)
            writer.number(UInt32(clamping: filter.kinds.count))
            for kind in filter.kinds { writer.number(kind) }
            writer.number(filter.functions.rawValue)
        }
        writer.number(UInt32(clamping: modules.count))
        for module in modules {
            writer.text(module.name)
            writer.number(module.start)
            writer.number(module.size)
        }
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        id = try fields.string()
        version = try fields.string()
        abiMinor = try fields.number32()
        confinement = try fields.number32()
        transports = []
        for _ in 0..<(try fields.count(limit: Self.entryLimit)) {
            transports.append(
                Transport(
                    flags: try fields.number32(),
                    platform: try fields.string(),
                    document: try fields.string(),
                    functions: Functions(rawValue: try fields.number32()),
                    manyLimit: try fields.number32()
                )
            )
        }
        filters = []
        for _ in 0..<(try fields.count(limit: Self.entryLimit)) {
            let flags = try fields.number32()
            let name = try fields.string()
            var kinds: [UInt32] = []
            for _ in 0..<(try fields.count(limit: Self.kindLimit)) { kinds.append(try fields.number32()) }
            filters.append(
                Filter(
                    flags: flags,
                    name: name,
                    kinds: kinds,
                    functions: Functions(rawValue: try fields.number32())
                )
            )
        }
        modules = []
        for _ in 0..<(try fields.count(limit: Self.moduleLimit)) {
            modules.append(
                Module(name: try fields.string(), start: try fields.number64(), size: try fields.number64())
            )
        }
        try fields.end(frame.kind)
    }
}

/// `unloadable`: why a library was not loaded.
package struct UnloadableMessage: Equatable, Sendable {
    package enum Reason: UInt32, Sendable, CaseIterable {
        /// `text` is the dynamic linker's message.
        case linker = 1
        /// It does not export `carillon_plugin_entry_v1`.
        case noEntry = 2
        /// It exports the entry of the major version `number`.
        case otherMajor = 3
        /// Its entry returned NULL.
        case refusedItself = 4
        /// `text` describes the error in the descriptor.
        case malformedDescriptor = 5
        /// Its own code failed; `text` describes the failure.
        case raised = 6
    }

    private static let textLimit = 4 << 10

    package var reason: Reason
    package var number: UInt32
    package var text: String
    /// As in ``DescriptorMessage/confinement``.
    package var confinement: UInt32

    package init(_ reason: Reason, number: UInt32 = 0, text: String = "", confinement: UInt32) {
        self.reason = reason
        self.number = number
        self.text = text
        self.confinement = confinement
    }

    package func write(to writer: inout FrameWriter) {
        writer.number(reason.rawValue)
        writer.number(number)
        writer.number(confinement)
        writer.text(String(decoding: text.utf8.prefix(Self.textLimit), as: UTF8.self))
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        guard let reason = Reason(rawValue: try fields.number32()) else { throw .unknownValue }
        self.reason = reason
        number = try fields.number32()
        confinement = try fields.number32()
        text = try fields.string()
        try fields.end(frame.kind)
    }
}
