;; arithmetic
((binary_expression left: (_) @left operator: _ @at right: (_) @right)
 (#not-match? @left "\"") (#not-match? @right "\"") (#set! one "arithmetic"))

;; augmented_assignment
((assignment_expression operator: _ @at right: (_) @right) (#not-match? @right "\"")
 (#set! one "assignment"))
((update_expression ["++" "--"] @at) (#set! other "step"))

;; boolean
((binary_expression operator: ["&&" "||"] @at) (#set! other "boolean"))

;; comparison
((binary_expression operator: _ @at) (#set! other "comparison"))

;; changed_constant
([(decimal_integer_literal) (hex_integer_literal) (decimal_floating_point_literal)] @at
 (#not-below? @at array_access switch_label) (#set! number))
([(true) (false)] @at (#set! other "flag"))

;; changed_text
((string_literal . (string_fragment) @at .) @string (#not-in? @at throw_statement assert_statement)
 (#not-match? @at "%") (#not-called? @string "println" "print" "printf" "log" "info" "warn")
 (#set! text))

;; removed_sign
((unary_expression operator: ["!" "-" "~"] operand: (_) @operand) @at
 (#not-match? @operand "^(2147483648|9223372036854775808[lL])$") (#set! write "@(operand)"))

;; swapped_operands
((binary_expression left: (_) @left operator: ["-" "/" "%" "<<" ">>" "<" ">" "<=" ">="] @sign
  right: (_) @right) @at
 (#not-eq? @left @right) (#set! write "@(right) @sign @(left)"))

;; dropped_operand
((binary_expression left: (_) @left operator: ["&&" "||"]) @at (#set! write "@(left)"))
((binary_expression operator: ["&&" "||"] right: (_) @right) @at (#set! write "@(right)"))

;; negated_condition
(if_statement condition: (parenthesized_expression [(identifier) (method_invocation)
  (field_access) (binary_expression operator: ["&&" "||"]) (instanceof_expression)] @at)
 (#set! write "!@(at)"))
(while_statement condition: (parenthesized_expression [(identifier) (method_invocation)
  (binary_expression operator: ["&&" "||"])] @at)
 (#set! write "!@(at)"))
(ternary_expression condition: [(identifier) (method_invocation) (field_access)] @at
 (#set! write "!@(at)"))
((lambda_expression body: (method_invocation) @at)
 (#called? @at "filter" "anyMatch" "allMatch" "noneMatch" "removeIf" "takeWhile" "dropWhile")
 (#set! write "!@(at)"))

;; swapped_branches
(if_statement consequence: (block) @a alternative: (block) @b @at (#set! swap))
((ternary_expression condition: (_) @condition consequence: (_) @a alternative: (_) @b) @at
 (#not-eq? @a @b) (#set! write "@condition ? @(b) : @(a)"))

;; loop_control
((break_statement) @at (#match? @at "^break\\s*;$") (#set! loop_control))
((continue_statement) @at (#match? @at "^continue\\s*;$") (#set! loop_control))

;; removed_statement
((expression_statement [(assignment_expression) (update_expression)]) @at (#set! remove))
((expression_statement (method_invocation) @call) @at
 (#not-match? @call "^(System\\.(out|err)|log|logger|LOG)\\b") (#not-below? @at switch_rule)
 (#set! remove))

;; removed_guard
((if_statement consequence: [(return_statement) (throw_statement) (break_statement)
   (continue_statement)] !alternative) @at
 (#set! remove))
((if_statement consequence: (block [(return_statement) (throw_statement) (break_statement)
   (continue_statement)] .) !alternative) @at
 (#set! remove))
((assert_statement) @at (#set! remove))
((expression_statement (method_invocation name: (identifier) @name)) @at
 (#any-of? @name "requireNonNull" "checkArgument" "checkState" "checkNotNull" "checkIndex")
 (#set! remove))

;; removed_wrapper
((if_statement consequence: (block) @body !alternative) @at (#set! write "@body"))
((while_statement condition: (_) @condition body: (block) @body) @at
 (#not-has? @body break_statement continue_statement) (#set! write "if @condition @body"))
((try_statement body: (_) @body) @at (#set! write "@body"))

;; default_return
(return_statement (_) @at (#not-in? @at lambda_expression) (#set! zero))

;; early_return
(block [(for_statement body: (block) @at) (enhanced_for_statement body: (block) @at)
  (while_statement body: (block) @at)] . (return_statement) @last .
 (#set! append "@last"))

;; swapped_arguments
((method_invocation name: (_) @name arguments: (argument_list) @at)
 (#not-any-of? @name "println" "printf" "format") (#set! arguments))
((object_creation_expression arguments: (argument_list) @at) (#set! arguments))

;; dropped_argument
((method_invocation name: (_) @name arguments: (argument_list (_) (_) @at .))
 (#any-of? @name "of" "asList" "hash" "substring" "indexOf" "lastIndexOf" "split" "join" "concat"
  "sort" "copyOfRange" "addAll" "toArray" "reduce" "round")
 (#set! item))

;; off_by_one
(array_access index: [(decimal_integer_literal) (binary_expression operator: ["+" "-"]
  right: (decimal_integer_literal))] @at
 (#set! shift))
((method_invocation name: (_) @name arguments: (argument_list [(decimal_integer_literal)
   (identifier) (method_invocation)] @at))
 (#any-of? @name "substring" "subList" "charAt" "get" "limit" "skip" "range" "rangeClosed" "subSequence")
 (#set! shift))
((binary_expression left: (_) @left operator: ["+" "-"] right: (decimal_integer_literal) @one) @at
 (#eq? @one "1") (#not-match? @left "\"") (#set! write "@(left)"))
((binary_expression operator: ["<" "<=" ">" ">="] right: [(method_invocation name: (_) @name)
   (field_access field: (_) @name)] @at)
 (#any-of? @name "length" "size") (#set! write "@at - 1"))
(for_statement init: (local_variable_declaration declarator: (variable_declarator
   value: (decimal_integer_literal) @at))
 (#set! shift))

;; removed_call
((method_invocation object: (_) @owner name: (_) @name arguments: (argument_list) @given) @at
 (#any-of? @name "trim" "strip" "toLowerCase" "toUpperCase" "stripLeading" "stripTrailing"
  "intern" "abs" "negate" "reversed" "normalize" "stripIndent")
 (#match? @given "^\\(\\s*\\)$") (#not-below? @at expression_statement) (#set! write "@(owner)"))
((method_invocation object: (identifier) @owner name: (_) @name
  arguments: (argument_list . (_) @first)) @at
 (#eq? @owner "Math")
 (#any-of? @name "abs" "floor" "ceil" "min" "max" "round" "sqrt" "floorMod" "clamp")
 (#not-below? @at expression_statement) (#set! write "@(first)"))

;; removed_copy
((object_creation_expression type: (_) @type arguments: (argument_list . (_) @inner .)) @at
 (#match? @type "^(ArrayList|LinkedList|HashSet|HashMap|TreeMap|TreeSet|LinkedHashMap|LinkedHashSet|ArrayDeque)\\b")
 (#kind? @inner identifier field_access this) (#set! write "@(inner)"))
((method_invocation object: (identifier) @owner name: (_) @name
  arguments: (argument_list . (_) @inner .)) @at
 (#match? @owner "^(List|Set|Map|Collections)$")
 (#match? @name "^(copyOf|unmodifiable.*|synchronized.*)$") (#set! write "@(inner)"))
((method_invocation object: (_) @owner name: (_) @name) @at (#eq? @name "clone")
 (#set! write "@(owner)"))

;; dropped_filter
((method_invocation object: (_) @owner name: (_) @name) @at
 (#any-of? @name "filter" "distinct" "sorted" "limit" "skip" "takeWhile" "dropWhile")
 (#not-below? @at expression_statement) (#set! write "@(owner)"))

;; dropped_case
((switch_block_statement_group) @at (#set! erase))
(switch_block (switch_rule) @at . (switch_rule) (#set! erase))
(switch_block (switch_rule (switch_label) (expression_statement) @a)
  . (switch_rule (switch_label) (expression_statement) @b) @at
 (#set! swap))
((if_statement consequence: (_) @after alternative: (_) @at) (#not-kind? @at if_statement)
 (#set! cut))
((if_statement alternative: (if_statement alternative: (_) @rest) @at) (#set! write "@rest"))

;; exception_handling
((catch_clause body: (block (_)) @at) (#set! write "{}"))
((throw_statement (object_creation_expression type: (_) @at)) (#set! other "error"))
((throw_statement) @at (#not-below? @at switch_rule) (#set! remove))
((catch_clause (catch_formal_parameter (catch_type (_) @first (_)) @at)) (#set! write "@first"))
((try_statement (catch_clause) @after (finally_clause) @at) (#set! cut))
((try_statement (catch_clause) (catch_clause) @at) (#set! erase))
((catch_formal_parameter (catch_type (type_identifier) @at .))
 (#not-any-of? @at "Exception" "Throwable") (#set! write "RuntimeException"))

;; null_handling
((if_statement condition: (parenthesized_expression (binary_expression operator: "=="
   right: (null_literal))) !alternative) @at
 (#set! remove))
((if_statement condition: (parenthesized_expression (binary_expression operator: "!="
   right: (null_literal))) consequence: (_) @body !alternative) @at
 (#set! write "@body"))
((method_invocation name: (identifier) @at) (#eq? @at "ofNullable") (#set! write "of"))
((method_invocation object: (_) @owner name: (_) @name arguments: (argument_list (_) @at))
 (#eq? @name "orElse") (#not-eq? @at "null") (#set! write "null"))
((method_invocation object: (_) @owner name: (_) @name) @at
 (#any-of? @name "orElseGet" "orElseThrow") (#set! write "@(owner).orElse(null)"))
((method_invocation name: (_) @name arguments: (argument_list . (_) @inner)) @at
 (#any-of? @name "requireNonNull" "requireNonNullElse") (#not-below? @at expression_statement)
 (#set! write "@(inner)"))
((method_invocation object: (_) @owner name: (identifier) @name arguments: (argument_list
   . (_) @key . (_) .)) @at
 (#eq? @name "getOrDefault") (#set! write "@(owner).get(@key)"))

;; resource_handling
((synchronized_statement body: (block) @body) @at (#set! write "@body"))
((expression_statement (method_invocation object: (_) name: (_) @name)) @at
 (#any-of? @name "lock" "unlock" "close" "flush" "join" "shutdown" "await" "countDown" "release"
  "acquire" "interrupt" "notify" "notifyAll")
 (#not-below? @at switch_rule) (#set! remove))

;; removed_modifier
(method_declaration (modifiers "synchronized" @at) (#set! erase))
(field_declaration (modifiers ["volatile" "static"] @at) (#set! erase))

;; reordered_statements
(block (expression_statement [(assignment_expression left: (_) @set)
    (update_expression (_) @set)]) @a
  . (expression_statement) @b @at
 (#mentions? @b @set) (#set! swap))
(block (expression_statement) @a
  . (expression_statement [(assignment_expression left: (_) @set)
    (update_expression (_) @set)]) @b @at
 (#mentions? @a @set) (#set! swap))

;; reference_equality
((method_invocation object: (_) @owner name: (_) @name arguments: (argument_list . (_) @other .))
 @at
 (#eq? @name "equals") (#not-below? @at expression_statement)
 (#set! write "(@(owner) == @(other))"))
((method_invocation object: (identifier) @owner name: (_) @name
  arguments: (argument_list . (_) @one . (_) @other .)) @at
 (#eq? @owner "Objects") (#eq? @name "equals") (#set! write "(@(one) == @(other))"))

;; narrowed_type
((cast_expression type: (integral_type) @type value: (_) @value) @at (#eq? @type "long")
 (#set! write "(int) @(value)"))
((cast_expression type: (floating_point_type) @type value: (_) @value) @at (#eq? @type "double")
 (#set! write "(float) @(value)"))
((binary_expression left: (cast_expression value: (_) @value) @at operator: ["*" "/" "+" "-"])
 (#set! write "@(value)"))

;; wrong_call
((method_invocation name: (identifier) @at) (#set! other "call"))

;; remove_body
((method_declaration body: (_) @at) (#set! stub))

;; wrong_attribute
(field_access object: (this) @owner field: (identifier) @field)
(field_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @declared))

;; wrong_variable
(formal_parameter type: (_) @type name: (identifier) @set)
(local_variable_declaration type: (_) @type declarator: (variable_declarator
  name: (identifier) @set))
(enhanced_for_statement type: (_) @type name: (identifier) @set)
(catch_formal_parameter (catch_type) @type name: (identifier) @set)
(lambda_expression parameters: (identifier) @set)
(inferred_parameters (identifier) @set)
(identifier) @read
