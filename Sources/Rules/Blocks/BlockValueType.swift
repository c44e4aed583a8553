enum BlockValueType {
    static let anyNumber = -Double.greatestFiniteMagnitude...Double.greatestFiniteMagnitude
}
