;; arithmetic
((binary_expression operator: _ @at) (#not-in? @at preproc_if preproc_elif)
 (#set! one "arithmetic"))

;; augmented_assignment
((assignment_expression operator: _ @at) (#set! one "assignment"))
((update_expression operator: _ @at) (#set! other "step"))

;; boolean
((binary_expression operator: ["&&" "||"] @at) (#set! other "boolean"))

;; comparison
((binary_expression operator: _ @at) (#set! other "comparison"))

;; changed_constant
((number_literal) @at (#not-below? @at subscript_expression case_statement array_declarator
  preproc_if preproc_elif preproc_defined)
 (#set! number))
([(true) (false)] @at (#set! other "flag"))

;; changed_text
((string_literal . (string_content) @at .) (#not-match? @at "[%/?]")
 (#not-in? @at preproc_if linkage_specification)
 (#set! text))

;; removed_sign
((unary_expression operator: ["!" "-" "~"] argument: (_) @argument) @at
 (#not-in? @at preproc_if preproc_elif) (#set! write "@(argument)"))

;; swapped_operands
((binary_expression left: (_) @left operator: ["-" "/" "%" "<<" ">>" "<" ">" "<=" ">="] @sign
  right: (_) @right) @at
 (#not-eq? @left @right) (#not-in? @at preproc_if preproc_elif)
 (#set! write "@(right) @sign @(left)"))

;; dropped_operand
((binary_expression left: (_) @left operator: ["&&" "||"]) @at (#set! write "@(left)"))
((binary_expression operator: ["&&" "||"] right: (_) @right) @at (#set! write "@(right)"))

;; negated_condition
(if_statement condition: (parenthesized_expression [(identifier) (call_expression)
  (field_expression) (subscript_expression) (binary_expression operator: ["&&" "||"])
  (pointer_expression)] @at)
 (#set! write "!@(at)"))
(while_statement condition: (parenthesized_expression [(identifier) (call_expression)
  (field_expression) (binary_expression operator: ["&&" "||"]) (pointer_expression)] @at)
 (#set! write "!@(at)"))
(conditional_expression condition: [(identifier) (call_expression) (field_expression)] @at
 (#set! write "!@(at)"))

;; swapped_branches
(if_statement consequence: (compound_statement) @a alternative: (else_clause
  (compound_statement) @b) @at
 (#set! swap))
((conditional_expression condition: (_) @condition consequence: (_) @a alternative: (_) @b) @at
 (#not-eq? @a @b) (#set! write "@condition ? @(b) : @(a)"))

;; loop_control
((break_statement) @at (#set! loop_control))
((continue_statement) @at (#set! loop_control))

;; removed_statement
((expression_statement [(assignment_expression) (update_expression)]) @at (#set! remove))
((expression_statement (call_expression function: (_) @name)) @at
 (#not-match? @name "^(printf|fprintf|puts|perror|assert|va_start|va_end|va_copy)$")
 (#set! remove))

;; removed_guard
((if_statement consequence: [(return_statement) (break_statement) (continue_statement)
   (goto_statement)] !alternative) @at
 (#set! remove))
((if_statement consequence: (compound_statement [(return_statement) (break_statement)
   (continue_statement) (goto_statement)] .) !alternative) @at
 (#set! remove))
((expression_statement (call_expression function: (identifier) @name)) @at (#eq? @name "assert")
 (#set! remove))

;; removed_wrapper
((if_statement consequence: (compound_statement) @body !alternative) @at (#set! write "@body"))
((while_statement condition: (_) @condition body: (compound_statement) @body) @at
 (#not-has? @body break_statement continue_statement) (#set! write "if @condition @body"))

;; default_return
(return_statement (_) @at (#set! zero))

;; early_return
(compound_statement [(for_statement body: (compound_statement) @at)
  (while_statement body: (compound_statement) @at)] . (return_statement) @last .
 (#set! append "@last"))
((expression_statement (assignment_expression left: (identifier) @result)) @at (#set! at_once))

;; swapped_arguments
((call_expression function: (_) @name arguments: (argument_list) @at)
 (#not-match? @name "^(printf|fprintf|snprintf|sprintf|va_arg|offsetof|sizeof|assert)$")
 (#set! arguments))

;; off_by_one
((subscript_expression index: [(number_literal) (binary_expression operator: ["+" "-"]
   right: (number_literal))] @at)
 (#set! shift))
((call_expression function: (identifier) @name arguments: (argument_list [(identifier)
   (number_literal) (field_expression)] @at .))
 (#any-of? @name "malloc" "memcpy" "memmove" "memset" "memcmp" "strncpy" "strncmp" "strncat"
  "realloc" "calloc" "alloca" "read" "write")
 (#set! shift))
((binary_expression left: (_) @left operator: ["+" "-"] right: (number_literal) @one) @at
 (#eq? @one "1") (#not-in? @at preproc_if preproc_elif) (#set! write "@(left)"))
(for_statement initializer: (declaration declarator: (init_declarator
   value: (number_literal) @at))
 (#set! shift))
(for_statement initializer: (assignment_expression right: (number_literal) @at) (#set! shift))
(for_statement condition: (binary_expression operator: ["<" "<=" ">" ">="]
  right: [(identifier) (field_expression) (call_expression)] @at)
 (#set! write "@at - 1"))

;; removed_call
((call_expression function: (identifier) @name arguments: (argument_list . (_) @first)) @at
 (#any-of? @name "abs" "labs" "fabs" "floor" "ceil" "round" "trunc" "sqrt" "tolower" "toupper"
  "min" "max" "MIN" "MAX" "fmin" "fmax" "htons" "htonl" "ntohs" "ntohl" "strdup")
 (#not-below? @at expression_statement) (#set! write "@(first)"))

;; dropped_case
((case_statement) @at (#set! erase))
((if_statement consequence: (_) @after alternative: (else_clause) @at) (#set! cut))
((if_statement alternative: (else_clause (if_statement alternative: (else_clause (_) @rest)) @at))
 (#set! write "@rest"))

;; exception_handling
((return_statement (number_literal) @at) (#match? @at "^-[0-9]+$") (#set! write "0"))
((return_statement (unary_expression operator: "-" argument: (_)) @at) (#set! write "0"))
((expression_statement (assignment_expression left: (identifier) @name)) @at (#eq? @name "errno")
 (#set! remove))
((goto_statement) @at (#set! remove))
((if_statement condition: (parenthesized_expression (binary_expression operator: "<"
   right: (number_literal) @zero)) !alternative) @at
 (#eq? @zero "0") (#set! remove))

;; null_handling
((if_statement condition: (parenthesized_expression (binary_expression operator: "=="
   right: (null))) !alternative) @at
 (#set! remove))
((if_statement condition: (parenthesized_expression (unary_expression operator: "!"
   argument: [(identifier) (field_expression)])) !alternative) @at
 (#set! remove))
((if_statement condition: (parenthesized_expression (binary_expression operator: "!="
   right: (null))) consequence: (_) @body !alternative) @at
 (#set! write "@body"))

;; resource_handling
((expression_statement (call_expression function: (identifier) @name)) @at
 (#match? @name "^(free|fclose|close|fflush|.*_(un)?lock|.*_free|.*_destroy|.*_unref|.*_release)$")
 (#set! remove))

;; removed_modifier
(declaration (storage_class_specifier) @at (#in? @at function_definition) (#eq? @at "static")
 (#set! erase))
((declaration (type_qualifier) @at) (#eq? @at "volatile") (#set! erase))

;; reordered_statements
(compound_statement (expression_statement [(assignment_expression left: (_) @set)
    (update_expression argument: (_) @set)]) @a
  . (expression_statement) @b @at
 (#mentions? @b @set) (#set! swap))
(compound_statement (expression_statement) @a
  . (expression_statement [(assignment_expression left: (_) @set)
    (update_expression argument: (_) @set)]) @b @at
 (#mentions? @a @set) (#set! swap))

;; assigned_condition
(if_statement condition: (parenthesized_expression (binary_expression
  left: [(identifier) (field_expression) (subscript_expression)] operator: "==" @at))
 (#set! write "="))
(while_statement condition: (parenthesized_expression (binary_expression
  left: [(identifier) (field_expression) (subscript_expression)] operator: "==" @at))
 (#set! write "="))

;; pointer_size
(sizeof_expression value: (parenthesized_expression (pointer_expression operator: "*"
  argument: (_) @inner) @at)
 (#set! write "@inner"))
(sizeof_expression value: (pointer_expression operator: "*" argument: (_) @inner) @at
 (#set! write "@inner"))
((sizeof_expression type: (type_descriptor !declarator) @at)
 (#not-match? @at "\\*$") (#set! write "@at *"))
((pointer_expression operator: "*" argument: (update_expression operator: "++" argument: (_) @inner))
 @at
 (#match? @at "^\\*\\w+\\+\\+$") (#set! write "(*@inner)++"))

;; narrowed_type
((declaration type: [(primitive_type) (sized_type_specifier)] @at) (#in? @at function_definition)
 (#any-of? @at "size_t" "long" "unsigned long" "long long" "unsigned long long" "uint64_t"
  "int64_t" "ssize_t" "unsigned" "unsigned int" "uint32_t")
 (#set! write "int"))
((declaration type: (primitive_type) @at) (#in? @at function_definition) (#eq? @at "double")
 (#set! write "float"))
((cast_expression type: (type_descriptor . [(primitive_type) (sized_type_specifier)] @at .))
 (#any-of? @at "size_t" "long" "unsigned long" "long long" "unsigned long long" "uint64_t"
  "int64_t")
 (#set! write "int"))
((cast_expression type: (type_descriptor . (sized_type_specifier) @at .))
 (#eq? @at "unsigned char") (#set! write "char"))

;; wrong_call
((call_expression function: (identifier) @at) (#set! other "call"))

;; remove_body
((function_definition body: (_) @at) (#set! stub))

;; wrong_attribute
(field_expression argument: (identifier) @owner field: (field_identifier) @field)
(field_declaration type: (_) @type declarator: (field_identifier) @declared)

;; wrong_variable
(parameter_declaration type: (_) @type declarator: (identifier) @set)
(parameter_declaration (pointer_declarator declarator: (identifier) @set) @type)
(declaration type: (_) @type declarator: (identifier) @set)
(declaration type: (_) @type declarator: (init_declarator declarator: (identifier) @set))
(identifier) @read
