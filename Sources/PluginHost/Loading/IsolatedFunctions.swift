import CarillonABI
import PluginIsolation
import PluginProtocol

// What a plugin in a process of its own looks like from here: its descriptor comes in a message and is judged as that
// of a library in this process, and its functions ask the process.

extension PluginDescriptor {
    /// The descriptor of a plugin in a process of its own.
    init(_ plugin: IsolatedPlugin) throws(PluginRefusal.Reason) {
        let judged = plugin.descriptor.lend { pointer in
            Result { () throws(PluginRefusal.Reason) in try PluginDescriptor(reading: pointer) }
        }
        let descriptor = try judged.get()
        self.init(
            descriptor,
            transports: descriptor.transports.enumerated().map { $1.running(in: plugin, at: $0) },
            filters: descriptor.filters.enumerated().map { $1.running(in: plugin, at: $0) }
        )
    }
}

extension TransportFunctions {
    /// The same transport in the process of `plugin`, at `index` of its descriptor.
    fileprivate func running(in plugin: IsolatedPlugin, at index: Int) -> TransportFunctions {
        var functions = self
        functions.create = { plugin.create(.transport, at: index, $0, $1, $2, $3) }
        // These hold on to the plugin: its process ends with the last who may ask it.
        functions.destroy = { withExtendedLifetime(plugin) { [instance = $0] in IsolatedInstance.destroy(instance) } }
        functions.deliver = { IsolatedInstance.deliver($0, $1, $2, $3) }
        if validate != nil { functions.validate = { IsolatedInstance.validate($0, $1, $2) } }
        if cancel != nil { functions.cancel = { IsolatedInstance.cancel($0, $1) } }
        if command != nil {
            functions.command = {
                IsolatedInstance.command($0, $1, $2, $3, $4, refusal: TransportInstance.words(for:))
            }
        }
        if check != nil { functions.check = { plugin.check(transport: index, $0, $1) } }
        if deliverMany != nil { functions.deliverMany = { IsolatedInstance.deliverMany($0, $1, $2) } }
        if receive != nil { functions.receive = { IsolatedInstance.receive($0, $1, $2, $3) } }
        return functions
    }
}

extension FilterFunctions {
    /// The same filter in the process of `plugin`, at `index` of its descriptor.
    fileprivate func running(in plugin: IsolatedPlugin, at index: Int) -> FilterFunctions {
        var functions = self
        functions.create = { plugin.create(.filter, at: index, $0, $1, $2, $3) }
        functions.destroy = { withExtendedLifetime(plugin) { [instance = $0] in IsolatedInstance.destroy(instance) } }
        functions.decide = { IsolatedInstance.decide($0, $1, $2) }
        functions.decisions = { IsolatedInstance.decisions(of: $0) }
        if needs != nil { functions.needs = { IsolatedInstance.needs($0) } }
        return functions
    }
}

extension DescriptorMessage {
    /// Lends the descriptor as a library would have it, with functions that do nothing.
    fileprivate func lend<Result>(_ body: (UnsafePointer<carillon_plugin>) -> Result) -> Result {
        var room = LentDescriptor()
        defer { room.free() }
        var plugin = carillon_plugin()
        plugin.struct_size = UInt32(MemoryLayout<carillon_plugin>.size)
        plugin.abi_minor = abiMinor
        plugin.id = room.text(id)
        plugin.version = room.text(version)
        plugin.transports = room.pointers(transports.map { room.transport($0) })
        plugin.transport_count = transports.count
        plugin.filters = room.pointers(filters.map { room.filter($0) })
        plugin.filter_count = filters.count
        return body(room.one(plugin))
    }
}

/// The memory of a descriptor that is lent.
private struct LentDescriptor {
    private var blocks: [UnsafeMutableRawPointer] = []

    mutating func free() {
        for block in blocks { block.deallocate() }
        blocks = []
    }

    private mutating func array<Element: BitwiseCopyable>(_ elements: [Element]) -> UnsafePointer<Element>? {
        guard !elements.isEmpty else { return nil }
        let pointer = UnsafeMutablePointer<Element>.allocate(capacity: elements.count)
        pointer.initialize(from: elements, count: elements.count)
        blocks.append(UnsafeMutableRawPointer(pointer))
        return UnsafePointer(pointer)
    }

    mutating func one<Element: BitwiseCopyable>(_ element: Element) -> UnsafePointer<Element> {
        let pointer = UnsafeMutablePointer<Element>.allocate(capacity: 1)
        pointer.initialize(to: element)
        blocks.append(UnsafeMutableRawPointer(pointer))
        return UnsafePointer(pointer)
    }

    mutating func pointers<Element: BitwiseCopyable>(
        _ elements: [Element]
    ) -> UnsafePointer<UnsafePointer<Element>?>? {
        array(elements.map { element in Optional(one(element)) })
    }

    mutating func text(_ text: String) -> carillon_str {
        carillon_str(ptr: UnsafeRawPointer(array(Array(text.utf8))), len: text.utf8.count)
    }

    mutating func transport(_ said: DescriptorMessage.Transport) -> carillon_transport {
        var transport = carillon_transport()
        transport.struct_size = UInt32(MemoryLayout<carillon_transport>.size)
        transport.flags = said.flags
        transport.platform = text(said.platform)
        transport.describe = text(said.document)
        let has = said.functions
        if has.contains(.create) { transport.create = { _, _, _, _ in .CARILLON_FAILED } }
        if has.contains(.destroy) { transport.destroy = { _ in } }
        if has.contains(.deliver) { transport.deliver = { _, _, _, _ in .CARILLON_FAILED } }
        if has.contains(.validate) { transport.validate = { _, _, _ in .CARILLON_FAILED } }
        if has.contains(.cancel) { transport.cancel = { _, _ in } }
        if has.contains(.command) { transport.command = { _, _, _, _, _ in .CARILLON_FAILED } }
        if has.contains(.check) { transport.check = { _, _ in .CARILLON_FAILED } }
        if has.contains(.deliverMany) { transport.deliver_many = { _, _, _ in .CARILLON_FAILED } }
        transport.deliver_many_limit = said.manyLimit
        if has.contains(.receive) { transport.receive = { _, _, _, _ in .CARILLON_FAILED } }
        return transport
    }

    mutating func filter(_ said: DescriptorMessage.Filter) -> carillon_filter {
        var filter = carillon_filter()
        filter.struct_size = UInt32(MemoryLayout<carillon_filter>.size)
        filter.flags = said.flags
        filter.name = text(said.name)
        filter.wanted_kinds = array(said.kinds)
        filter.wanted_kind_count = said.kinds.count
        let has = said.functions
        if has.contains(.create) { filter.create = { _, _, _, _ in .CARILLON_FAILED } }
        if has.contains(.destroy) { filter.destroy = { _ in } }
        if has.contains(.decide) { filter.decide = { _, _, _ in .CARILLON_FAILED } }
        if has.contains(.needs) { filter.needs = { _ in 0 } }
        return filter
    }
}
